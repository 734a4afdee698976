/* Overwrites y (N, columns, rows) with x (N, rows, columns): images from NCHW to NHWC or back.
 * Defines: BYTES 1: uint8, 0: 32 bits. An item makes 16 rows of y. Items: (ceil(columns / 16), N). */
#ifndef BYTES
#define BYTES 0
#endif
#if BYTES
#define WORD uchar
#else
#define WORD float
#endif
#define TILE 16

__kernel void transpose(CONST_TENSOR(WORD, x), TENSOR(WORD, y), int rows, int columns)
{
    USE_CONST(WORD, x);
    USE(WORD, y);
    const int first = (int)get_global_id(0) * TILE, end = min(first + TILE, columns);
    const ulong image = (ulong)get_global_id(1) * rows * columns;
    if (first >= columns)
        return;
    x += image;
    y += image;
    int row = 0;
    for (; row + TILE <= rows && first + TILE <= columns; row += TILE) {
        WORD tile[TILE][TILE];
        for (int r = 0; r < TILE; r++)
            for (int c = 0; c < TILE; c++)
                tile[c][r] = x[(row + r) * columns + first + c];
        for (int c = 0; c < TILE; c++)
            for (int r = 0; r < TILE; r++)
                y[(first + c) * rows + row + r] = tile[c][r];
    }
    for (; row < rows; row++)
        for (int column = first; column < end; column++)
            y[column * rows + row] = x[row * columns + column];
}
