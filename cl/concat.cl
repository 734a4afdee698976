/* Rows of some tensors side by side in another, and back. from and to hold `rows` rows `from_stride` and `to_stride` elements apart;
 * `length` elements of each, the first given by the tensors' offsets, are copied. Overwrites them in to. Items: (length, rows). */
__kernel void copy_rows(CONST_TENSOR(float, from), TENSOR(float, to), int length, int from_stride, int to_stride)
{
    USE_CONST(float, from);
    USE(float, to);
    const int i = get_global_id(0);
    const ulong row = get_global_id(1);
    if (i < length)
        to[row * to_stride + i] = from[row * from_stride + i];
}
