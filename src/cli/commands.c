/* What --help and the manual pages say of each command beside its options. */
#include "cli/flags.h"

static const struct cli_example devices_examples[] = {
    {"claret devices", "all OpenCL devices, which of them work and why others do not"},
    {"claret devices --json", "the same for scripts"},
    {NULL, NULL},
};
static const char *const devices_paragraphs[] = {
    "Lists the devices of all OpenCL platforms, numbered from 0 in one flat list. P:D is the platform and "
    "the "
    "device within it. Each device is tried with a small kernel: one that gives a wrong answer, cannot "
    "compile "
    "or whose driver aborts is shown with the reason. Below the table stands what is odd about the system, "
    "with "
    "the command that mends it.",
    "With --json: {\"platforms\": [{\"index\", \"name\", \"vendor\", \"version\"}], \"devices\": "
    "[{\"index\", "
    "\"id\", \"platform\", \"name\", \"vendor\", \"type\", \"compute_units\", \"global_mem\", \"local_mem\", "
    "\"max_alloc\", \"max_work_group\", \"opencl_c\", \"fp16\", \"fp64\", \"subgroups\", \"command_buffer\", "
    "\"driver\", \"usable\", \"reason\"}]}, sizes in bytes.",
    NULL,
};

static const struct cli_example train_examples[] = {
    {"claret train", "SimpleCNN on the CIFAR-10 in ./data, ten epochs"},
    {"claret train --data shapes --epochs 2", "try it without any data: a built-in set of drawn shapes"},
    {"claret train --device gpu -b 128 --lr 0.01 -o runs/big", "larger steps on the first usable GPU"},
    {"claret train --model mynet.net --seed 1 --json", "a network of your own, the result for a script"},
    {NULL, NULL},
};
static const char *const train_paragraphs[] = {
    "Trains a network, tests it and saves its weights. Options mean what PyTorch's mean; one that can have "
    "no "
    "effect beside the others is refused, but for those in a file. "
    "Images are normalised by --mean and --std and shuffled anew each epoch. Training images are augmented "
    "where "
    "options say so, in the order in which these are listed; what is drawn depends on seed, epoch and image "
    "alone.",
    "Standard output has one line every --log-every steps, \"[EPOCH, STEP] loss: MEAN\" (the mean over those "
    "steps), then \"Finished Training\", \"Test loss: LOSS  accuracy: PERCENT% (RIGHT/ALL)\", the accuracy "
    "of each "
    "class, \"Speed: N images/s\" and \"Weights: PATH sha256:HEX\". All else is on standard error. With "
    "--json: "
    "{\"steps\", \"epochs\", \"loss\", \"accuracy\", \"class_accuracy\", \"images_per_second\", \"weights\", "
    "\"sha256\", \"device\"}; loss and accuracy are the test's, accuracies in percent.",
    "The run's folder is made when training can start. It holds weights.safetensors, log.csv (epoch, step, "
    "images, loss, lr, seconds; renewed as epochs end) and config.ini, all options in force. A folder that "
    "holds a run already is "
    "refused without --overwrite.",
    "On SIGINT (Ctrl-C) and SIGTERM the step under way ends, the weights are saved and the signal takes its "
    "effect. A second one ends the program at once.",
    NULL,
};

static const struct cli_example eval_examples[] = {
    {"claret eval --weights runs/simplecnn-001/weights.safetensors", "test saved weights on ./data"},
    {"claret eval --weights w.safetensors --data shapes -b 100 --json", "on the built-in set, for scripts"},
    {NULL, NULL},
};
static const char *const eval_paragraphs[] = {
    "Tests saved weights on the test images: loss, accuracy overall and of each class, the confusion matrix "
    "(a row "
    "for each true class, a column for each class it was taken for) and the speed. The weights may come from "
    "PyTorch: safetensors.torch.save_file(model.state_dict(), FILE).",
    "Where flags do not say them, the network, --mean, --std, the loss and the classes' names are those of "
    "the training, as the "
    "file "
    "says where it is a checkpoint, else the config.ini that lies beside it.",
    "With --json: {\"loss\", \"accuracy\", \"class_accuracy\", \"confusion\", \"images\", "
    "\"images_per_second\", "
    "\"weights\", \"device\"}; accuracies in percent, null for a class without images.",
    NULL,
};

static const struct cli_example show_examples[] = {
    {"claret show simplecnn", "the layers with shapes, parameters and multiply-adds"},
    {"claret show mynet.net -b 128", "and the memory that training needs at that batch size"},
    {"claret show simplecnn --text > my.net", "its text, to be changed for data of your own"},
    {"claret show simplecnn --dump-plan --device cpu", "the launches of a training step on a device"},
    {"claret show simplecnn --explain -b 128", "which solver runs each node, and why no other does"},
    {NULL, NULL},
};
static const char *const show_paragraphs[] = {
    "Prints a network's layer table: the shape that leaves each layer, its parameters and multiply-adds, and "
    "the "
    "bytes that training needs. MODEL is a name of the zoo, or the path of a network text (it has a '/' or "
    "ends in "
    ".net).",
    "A network text has one layer a line, \"[NAME =] OP key=value ...\", and comments from '#'. Its first "
    "line is "
    "\"input CHANNELS HEIGHT WIDTH\"; a layer's input is the layer before it unless from=NAME says another.",
    NULL,
};

static const struct cli_example fetch_examples[] = {
    {"claret fetch cifar10", "CIFAR-10 into ./data, where claret train finds it"},
    {"claret fetch mnist --out /srv/data", "MNIST into /srv/data/mnist"},
    {"claret fetch cifar100 --url http://mirror.example/some/folder/", "from another address"},
    {NULL, NULL},
};
static const char *const fetch_paragraphs[] = {
    "Fetches a published data set: cifar10, cifar100, mnist or fashion-mnist. A copy that is there already "
    "is used. What "
    "breaks off is kept as FILE.part, and the same command goes on from there. Size and MD5 are checked "
    "before anything is "
    "unpacked; an archive whose members would leave the folder is refused.",
    "Proxies and certificates are those of libcurl: the variables http_proxy, https_proxy, no_proxy, "
    "SSL_CERT_FILE. Standard output has one line, \"SET is in FOLDER\"; with --json {\"set\", \"folder\"}.",
    NULL,
};

static const struct cli_example predict_examples[] = {
    {"claret predict photo.jpg --weights runs/try/weights.safetensors",
     "what is on a picture; --classes names the classes"},
    {"claret predict - --weights w.safetensors --csv < list.txt", "for many, into a table"},
    {NULL, NULL},
};
static const char *const predict_paragraphs[] = {
    "Says what classes a network takes images for, the likeliest first, with their probabilities: by softmax "
    "after --loss cross_entropy; after bce each class's own by sigmoid, which need not add up to 1. After "
    "mse "
    "the outputs stand there as they are: scores. Images are PNG or "
    "JPEG files, resized to the network's input as those of a folder of images are in training; '-' stands "
    "for a list of "
    "files on standard input, one a line.",
    "Where flags do not say them, the network, --mean, --std and the loss are those of the training, as the "
    "file "
    "of the weights says where it is a checkpoint, else the config.ini that lies beside it.",
    "One line an image, \"FILE: CLASS PERCENT%, CLASS PERCENT%, ...\"; with --csv a head and rows of "
    "file,rank,label,class,probability; with --json {\"images\": [{\"file\", \"classes\": [{\"label\", "
    "\"name\", "
    "\"probability\"}]}], \"weights\", \"device\"}. Scores have \"score\" for \"probability\", and no "
    "percent "
    "sign. An image that cannot be read is named on standard error, "
    "the others are "
    "done, and the exit code is 1.",
    NULL,
};

const struct cli_command cli_commands[CLI_COMMAND_COUNT] = {
    {"devices", "list the OpenCL devices and say which can be used", NULL, devices_examples,
     devices_paragraphs},
    {"train", "train a network, test it and save its weights", NULL, train_examples, train_paragraphs},
    {"eval", "test saved weights", NULL, eval_examples, eval_paragraphs},
    {"show", "show a network's layers, sizes and memory", "MODEL", show_examples, show_paragraphs},
    {"fetch", "fetch a published data set", "SET", fetch_examples, fetch_paragraphs},
    {"predict", "say what is on images", "IMAGE...", predict_examples, predict_paragraphs},
};
