/* Checkpoints as files of a run's folder: their names, and which there are. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/shell.h"
#include "base/text.h"
#include "train/checkpoint.h"

#define PREFIX "checkpoint-"
#define SUFFIX ".safetensors"

size_t claret_checkpoint_number(const char *name)
{
    const size_t prefix = sizeof PREFIX - 1, length = strlen(name);
    char digits[32] = "";
    int64_t number = 0;
    if (length < prefix + 8 + sizeof SUFFIX - 1 || length > prefix + 20 + sizeof SUFFIX - 1 ||
        strncmp(name, PREFIX, prefix) != 0 || strcmp(name + length - (sizeof SUFFIX - 1), SUFFIX) != 0)
        return 0;
    memcpy(digits, name + prefix, length - prefix - (sizeof SUFFIX - 1));
    return claret_parse_int(digits, 1, INT64_MAX, &number) ? (size_t)number : 0;
}

char *claret_checkpoint_path(const char *folder, size_t steps)
{
    char name[sizeof PREFIX + 24 + sizeof SUFFIX];
    snprintf(name, sizeof name, PREFIX "%08zu" SUFFIX, steps);
    return claret_path_join(folder, name);
}

enum claret_status claret_checkpoint_list(const char *path, size_t most, size_t **numbers, size_t *count)
{
    DIR *folder = opendir(path);
    *numbers = NULL;
    *count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        size_t number = claret_checkpoint_number(entry->d_name), at = *count;
        if (!number || number > most)
            continue;
        size_t *larger = realloc(*numbers, (*count + 1) * sizeof *larger);
        if (!larger) {
            closedir(folder);
            return claret_no_memory();
        }
        for (*numbers = larger; at > 0 && larger[at - 1] > number; at--)
            larger[at] = larger[at - 1];
        larger[at] = number;
        ++*count;
    }
    if (folder)
        closedir(folder);
    return CLARET_OK;
}

/* Whether the folder has a file of that name: then what to do with it is said. */
static bool offer(const char *folder, const char *name, const char *what)
{
    struct stat info;
    char *path = claret_path_join(folder, name), *word = NULL;
    if (path && stat(path, &info) == 0 && S_ISREG(info.st_mode))
        word = claret_shell_word(path);
    if (word)
        claret_error_context("%s %s", what, word);
    free(path);
    bool there = word != NULL;
    free(word);
    return there;
}

enum claret_status claret_checkpoint_none(const char *folder)
{
    claret_fail(CLARET_NOT_FOUND, "%s holds no checkpoint", folder);
    if (!offer(folder, "best.safetensors", "To go on after its best test: claret train --resume"))
        offer(folder, "weights.safetensors",
              "To begin another training with its weights: claret train --init");
    claret_error_context(
        "Checkpoints are written by --checkpoint-every N, and where a training is interrupted");
    return CLARET_NOT_FOUND;
}
