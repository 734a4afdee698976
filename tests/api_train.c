/* A program as its users write it: trains with the installed library, knowing nothing but its public header.
 * tools/check builds it through pkg-config. Two classes: bright left half, bright right half. */
#include <stdio.h>
#include <stdlib.h>

#include <claret/claret.h>

#define COUNT 64
#define SIZE 12

static const char network_text[] = "input 1 12 12\nconv2d out_channels=4 kernel_size=3\nrelu\n"
                                   "max_pool2d kernel_size=2\nflatten\nlinear out_features=2\n";

static void check(enum claret_status status)
{
    if (status == CLARET_OK)
        return;
    fprintf(stderr, "%s: %s\n", claret_status_name(status), claret_error());
    exit(1);
}

int main(void)
{
    static unsigned char images[COUNT][1][SIZE][SIZE];
    static int32_t labels[COUNT];
    struct claret_network *network;
    struct claret_options *options;
    struct claret_dataset *dataset;
    struct claret_session *session;
    struct claret_result *result;
    size_t correct;

    for (int i = 0; i < COUNT; i++) {
        labels[i] = i % 2;
        for (int y = 0; y < SIZE; y++)
            for (int x = 0; x < SIZE; x++)
                images[i][0][y][x] = (unsigned char)(rand() % 128 + ((x < SIZE / 2) == (i % 2) ? 96 : 0));
    }
    check(claret_network_parse(network_text, "halves", &network));
    check(claret_dataset_from_arrays(CLARET_U8, images, labels, COUNT, 1, SIZE, SIZE, 2, &dataset));
    check(claret_options_create(&options));
    check(claret_options_set(options, "batch-size", "8"));
    check(claret_options_set(options, "epochs", "10"));
    check(claret_options_set(options, "lr", "0.02"));
    check(claret_session_create(network, options, dataset, 1, &session));
    check(claret_session_train(session, dataset, NULL, NULL));
    check(claret_session_evaluate(session, dataset, &result));
    correct = claret_result_correct(result);
    printf("claret %s: %zu of %d right after %zu steps\n", claret_version(), correct, COUNT,
           claret_session_steps(session));
    claret_result_destroy(result);
    claret_session_destroy(session);
    claret_options_destroy(options);
    claret_dataset_destroy(dataset);
    claret_network_destroy(network);
    return correct > COUNT * 9 / 10 && claret_live_objects() == 0 ? 0 : 1;
}
