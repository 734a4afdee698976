/* SHA-256 and MD5 (libmd). */
#ifndef CLARET_BASE_HASH_H
#define CLARET_BASE_HASH_H

#include "status.h"

void claret_sha256(const void *data, size_t size, char hex[65]);
/* MD5, for what others publish with one. */
enum claret_status claret_md5_file(const char *path, char hex[33]);
enum claret_status claret_sha256_file(const char *path, char hex[65]);

#endif
