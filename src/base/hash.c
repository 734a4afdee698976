#include "hash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include <md5.h>
#include <sha2.h>

static void finish(SHA2_CTX *context, char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t digest[SHA256_DIGEST_LENGTH];

    SHA256Final(digest, context);
    for (int i = 0; i < SHA256_DIGEST_LENGTH; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[64] = '\0';
}

void claret_sha256(const void *data, size_t size, char hex[65])
{
    SHA2_CTX context;

    SHA256Init(&context);
    SHA256Update(&context, data, size);
    finish(&context, hex);
}

enum claret_status claret_sha256_file(const char *path, char hex[65])
{
    uint8_t buffer[16384];
    SHA2_CTX context;
    size_t size;
    int failed;
    FILE *stream = fopen(path, "rbe");

    if (!stream)
        return claret_fail(errno == ENOENT ? CLARET_NOT_FOUND : CLARET_IO, "%s: cannot be opened: %s", path,
                           strerror(errno));
    SHA256Init(&context);
    errno = 0;
    while ((size = fread(buffer, 1, sizeof(buffer), stream)) > 0)
        SHA256Update(&context, buffer, size);
    failed = ferror(stream) ? errno : 0;
    fclose(stream);
    if (failed)
        return claret_fail(CLARET_IO, "%s: cannot be read: %s", path, strerror(failed));
    finish(&context, hex);
    return CLARET_OK;
}

enum claret_status claret_md5_file(const char *path, char hex[33])
{
    if (MD5File(path, hex))
        return CLARET_OK;
    return claret_fail(CLARET_IO, "%s: cannot be read: %s", path, strerror(errno));
}
