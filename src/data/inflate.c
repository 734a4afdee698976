#include "inflate.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/text.h"

#ifdef CLARET_HAVE_ZLIB
#define ZLIB_CONST /* input is not written to */
#include <zlib.h>

#define CHUNK ((size_t)1 << 20)
#define GZIP_WINDOW (15 + 16) /* zlib's way of saying: gzip's header, its largest window */

static enum claret_status too_large(const char *path, size_t limit)
{
    char most[32];

    return claret_fail(CLARET_FORMAT, "%s: inflates to more than %s", path, claret_format_bytes(limit, most));
}

/* Everything to the end of the stream, whose check sum zlib compares. */
static enum claret_status inflate_all(const char *path, z_stream *stream, size_t limit, unsigned char **data,
                                      size_t *size)
{
    size_t capacity = 0, used = 0;
    unsigned char *buffer = NULL, *larger;
    int code = Z_OK;

    while (code != Z_STREAM_END) {
        if (used == capacity) {
            capacity = capacity ? 2 * capacity : CHUNK;
            larger = realloc(buffer, capacity);
            if (!larger) {
                free(buffer);
                return claret_no_memory();
            }
            buffer = larger;
        }
        size_t room = capacity - used < CHUNK ? capacity - used : CHUNK;
        stream->next_out = buffer + used;
        stream->avail_out = (uInt)room;
        code = inflate(stream, Z_NO_FLUSH);
        used += room - stream->avail_out;
        if (used > limit || (code != Z_OK && code != Z_STREAM_END)) {
            free(buffer);
            if (used > limit)
                return too_large(path, limit);
            if (code == Z_BUF_ERROR)
                return claret_fail(CLARET_FORMAT, "%s: gzip's data end too early: the file is truncated",
                                   path);
            return claret_fail(CLARET_FORMAT, "%s: gzip's data are damaged: %s", path,
                               stream->msg ? stream->msg : zError(code));
        }
    }
    *data = buffer;
    *size = used;
    return CLARET_OK;
}

static enum claret_status inflate_gzip(const char *path, const char *packed, size_t packed_size, size_t limit,
                                       unsigned char **data, size_t *size)
{
    z_stream stream = {0};

    if (packed_size > UINT32_MAX)
        return too_large(path, limit);
    stream.next_in = (const Bytef *)packed;
    stream.avail_in = (uInt)packed_size;
    if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
        return claret_no_memory();
    enum claret_status status = inflate_all(path, &stream, limit, data, size);
    inflateEnd(&stream);
    return status;
}
#else
static enum claret_status inflate_gzip(const char *path, const char *packed, size_t packed_size, size_t limit,
                                       unsigned char **data, size_t *size)
{
    (void)packed, (void)packed_size, (void)limit, (void)data, (void)size;
    return claret_fail(CLARET_FORMAT, "%s: this claret was built without zlib: unpack it (gunzip)", path);
}
#endif

enum claret_status claret_inflate_file(const char *path, size_t limit, unsigned char **data, size_t *size)
{
    enum claret_status status;
    char *plain;
    size_t bytes;

    CLARET_TRY(claret_file_read(path, limit, &plain, &bytes));
    if (bytes < 2 || (unsigned char)plain[0] != 0x1f || (unsigned char)plain[1] != 0x8b) {
        *data = (unsigned char *)plain;
        *size = bytes;
        return CLARET_OK;
    }
    status = inflate_gzip(path, plain, bytes, limit, data, size);
    free(plain);
    return status;
}
