/* One file by libcurl: resumed after a break, checked before it gets its name. */
#include "fetch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"

enum claret_status claret_download_check(const char *path, const struct claret_fetch_file *file)
{
    struct stat info;
    char md5[33];

    if (stat(path, &info) != 0)
        return claret_fail(CLARET_IO, "%s: cannot be examined: %s", path, strerror(errno));
    if (file->size && (uint64_t)info.st_size != file->size)
        return claret_fail(CLARET_FORMAT, "%s: %lld bytes, where %" PRIu64 " are expected", path,
                           (long long)info.st_size, file->size);
    CLARET_TRY(claret_md5_file(path, md5));
    if (strcmp(md5, file->md5) != 0)
        return claret_fail(CLARET_FORMAT, "%s: its MD5 is %s, where %s is expected", path, md5, file->md5);
    return CLARET_OK;
}

#ifdef CLARET_HAVE_CURL
#include <curl/curl.h>
#include <pthread.h>

#define TRIES 3                  /* of each address, as long as there is hope */
#define MOST ((uint64_t)4 << 30) /* bytes of a file whose size is not known */

struct transfer {
    const struct claret_download *download;
    CURL *curl;
    char *part; /* path */
    FILE *file;
    uint64_t start, at; /* bytes there before this transfer, and now */
    double heard;       /* claret_clock() when the last bytes came */
    char fault[CURL_ERROR_SIZE + 64];
    const char *refused; /* why what this address has is not the file; NULL: it may be */
    char reason[128];
    int write_error;
};

static size_t on_data(char *data, size_t size, size_t count, void *user)
{
    struct transfer *transfer = user;
    uint64_t expected = transfer->download->file->size;
    curl_off_t length = -1;

    (void)size; /* 1 */
    if (transfer->at == transfer->start && expected &&
        curl_easy_getinfo(transfer->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length) == CURLE_OK &&
        length >= 0 && transfer->start + (uint64_t)length != expected) {
        claret_print(transfer->reason, sizeof(transfer->reason),
                     "the server has %" PRIu64 " bytes, where %" PRIu64 " are expected",
                     transfer->start + (uint64_t)length, expected);
        transfer->refused = transfer->reason;
        return 0;
    }
    if (count > (expected ? expected : MOST) - transfer->at) {
        transfer->refused = "the server sends more than the file has";
        return 0;
    }
    if (fwrite(data, 1, count, transfer->file) != count) {
        transfer->write_error = errno ? errno : EIO;
        return 0;
    }
    transfer->at += count;
    transfer->heard = claret_clock();
    return count;
}

static int on_progress(void *user, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up)
{
    struct transfer *transfer = user;
    const struct claret_download *download = transfer->download;
    uint64_t whole = download->file->size;

    (void)now, (void)up_total, (void)up;
    if (!whole && total > 0)
        whole = transfer->start + (uint64_t)total;
    if (download->progress)
        download->progress(download->user, download->file->name, transfer->at, whole);
    /* A slow server is waited for, one that sends nothing is not. This is called once a second at least. */
    if (claret_clock() - transfer->heard <= download->timeout)
        return 0;
    claret_print(transfer->reason, sizeof(transfer->reason), "nothing came for %d s", download->timeout);
    return 1;
}

static void start_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* From what there is to the end. */
static CURLcode transfer_once(struct transfer *transfer, const char *url)
{
    CURL *curl = transfer->curl;

    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https,ftp,file");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "claret");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)transfer->download->timeout);
    curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)transfer->start);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer->fault);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    transfer->fault[0] = '\0';
    transfer->refused = NULL;
    transfer->write_error = 0;
    transfer->heard = claret_clock();
    CURLcode code = curl_easy_perform(curl);
    if (code == CURLE_ABORTED_BY_CALLBACK)
        claret_print(transfer->fault, sizeof(transfer->fault), "%s", transfer->reason);
    else if (transfer->refused)
        claret_print(transfer->fault, sizeof(transfer->fault), "%s", transfer->refused);
    else if (!transfer->fault[0])
        claret_print(transfer->fault, sizeof(transfer->fault), "%s", curl_easy_strerror(code));
    return code;
}

/* Opens the part and finds where it ends; one that is too long is begun anew. */
static enum claret_status open_part(struct transfer *transfer, bool anew)
{
    uint64_t size = transfer->download->file->size;
    struct stat info;

    transfer->file = fopen(transfer->part, anew ? "wb" : "ab");
    if (!transfer->file)
        return claret_fail(CLARET_IO, "%s: cannot be written: %s", transfer->part, strerror(errno));
    transfer->start = fstat(fileno(transfer->file), &info) == 0 ? (uint64_t)info.st_size : 0;
    transfer->at = transfer->start;
    if (anew || !transfer->start || !size || transfer->start <= size)
        return CLARET_OK;
    fclose(transfer->file);
    return open_part(transfer, true);
}

static enum claret_status close_part(struct transfer *transfer)
{
    if (fclose(transfer->file) != 0 && !transfer->write_error)
        transfer->write_error = errno;
    if (!transfer->write_error)
        return CLARET_OK;
    return claret_fail(CLARET_IO, "%s: cannot be written: %s", transfer->part,
                       strerror(transfer->write_error));
}

/* Whether trying once more, from where it broke off, may help. */
static bool broke_off(CURLcode code)
{
    return code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
           code == CURLE_OPERATION_TIMEDOUT || code == CURLE_GOT_NOTHING || code == CURLE_ABORTED_BY_CALLBACK;
}

enum outcome { WHOLE, AGAIN, ANEW, NEXT };

/* After the last byte: the check, and the file gets its name. */
static enum outcome finish(struct transfer *transfer, enum claret_status *status)
{
    enum outcome outcome = transfer->start ? ANEW : NEXT; /* an old part may be of something else */

    *status = claret_download_check(transfer->part, transfer->download->file);
    if (*status == CLARET_FORMAT) {
        *status = CLARET_OK;
        char *fault = claret_error_take();
        claret_print(transfer->fault, sizeof(transfer->fault), "%s", fault ? fault : "it is another file");
        free(fault);
        unlink(transfer->part);
        return outcome;
    }
    if (*status == CLARET_OK && rename(transfer->part, transfer->download->path) != 0)
        *status =
            claret_fail(CLARET_IO, "%s: cannot be written: %s", transfer->download->path, strerror(errno));
    return WHOLE;
}

static enum outcome try_url(struct transfer *transfer, const char *url, bool anew, enum claret_status *status)
{
    CURLcode code = CURLE_OK;

    *status = open_part(transfer, anew);
    if (*status != CLARET_OK)
        return WHOLE;
    if (!transfer->download->file->size || transfer->start < transfer->download->file->size)
        code = transfer_once(transfer, url);
    *status = close_part(transfer);
    if (*status != CLARET_OK)
        return WHOLE;
    if (code == CURLE_OK)
        return finish(transfer, status);
    if (transfer->refused) {
        if (transfer->at == transfer->start && transfer->start)
            return ANEW;
        unlink(transfer->part);
        return NEXT;
    }
    if (code == CURLE_RANGE_ERROR || code == CURLE_BAD_DOWNLOAD_RESUME ||
        (code == CURLE_HTTP_RETURNED_ERROR && transfer->start && strstr(transfer->fault, "416")))
        return ANEW;
    return broke_off(code) ? AGAIN : NEXT;
}

/* An address until it has given the file or there is no more hope. true: done, well or ill (*status). */
static bool try_often(struct transfer *transfer, const char *url, enum claret_status *status)
{
    bool anew = false;

    for (int tries = 0; tries < TRIES; tries++) {
        enum outcome outcome = try_url(transfer, url, anew, status);
        if (outcome == WHOLE)
            return true;
        if (outcome == NEXT)
            return false;
        if (outcome == ANEW && anew)
            return false;
        anew = outcome == ANEW;
        if (tries + 1 < TRIES)
            claret_info("%s: %s; trying again %s", url, transfer->fault,
                        anew ? "from the start" : "from there");
        if (outcome == AGAIN)
            nanosleep(&(struct timespec){tries, 500000000}, NULL);
    }
    return false;
}

enum claret_status claret_download(const struct claret_download *download)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct transfer transfer = {.download = download};
    struct claret_text faults = {0};
    enum claret_status status = CLARET_OK;
    struct stat info;
    bool done = false;

    pthread_once(&once, start_curl);
    transfer.curl = curl_easy_init();
    transfer.part = malloc(strlen(download->path) + 6);
    if (!transfer.curl || !transfer.part)
        status = claret_no_memory();
    else
        sprintf(transfer.part, "%s.part", download->path);
    for (int i = 0; download->urls[i] && status == CLARET_OK && !done; i++) {
        done = try_often(&transfer, download->urls[i], &status);
        if (!done)
            claret_text_add(&faults, "\n  %s: %s", download->urls[i], transfer.fault);
    }
    if (status == CLARET_OK && !done) {
        status = claret_fail(CLARET_IO, "%s could not be fetched:%s", download->file->name,
                             faults.failed || !faults.data ? "" : faults.data);
        if (stat(transfer.part, &info) == 0 && info.st_size > 0)
            claret_error_context("What came is kept in %s: the same command goes on from there.",
                                 transfer.part);
        else
            unlink(transfer.part);
        claret_error_context("Another address: --url. Behind a proxy: set https_proxy, as for curl.");
    }
    claret_text_drop(&faults);
    free(transfer.part);
    curl_easy_cleanup(transfer.curl);
    return status;
}
#else
enum claret_status claret_download(const struct claret_download *download)
{
    return claret_fail(
        CLARET_IO,
        "this claret was built without libcurl: fetch %s (MD5 %s), put it there as %s, and run the same "
        "again",
        download->urls[0], download->file->md5, download->path);
}
#endif
