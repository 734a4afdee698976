"""PyTorch's part of compare_accuracy.py.

accuracy_torch.py folder CIFAR DIR TRAIN TEST    the first images of a CIFAR-10 (binary) as DIR/train/CLASS/00001.png and DIR/test/…
accuracy_torch.py train REQUEST                  trains and tests as the JSON file REQUEST has it; ends with a line of JSON
"""
import glob
import json
import os
import sys
import time

import numpy
import torch
import torch_steps
from PIL import Image
from torch import nn

RECORD = 1 + 3 * 32 * 32
TEST_BATCH = 100


def write_images(paths, count, names, folder):
    done = 0
    for path in paths:
        records = numpy.fromfile(path, dtype=numpy.uint8).reshape(-1, RECORD)
        for record in records[:count - done]:
            into = os.path.join(folder, names[record[0]])
            os.makedirs(into, exist_ok=True)
            image = record[1:].reshape(3, 32, 32).transpose(1, 2, 0)
            done += 1
            Image.fromarray(image).save(os.path.join(into, f"{done:05}.png"))
    if done < count:
        sys.exit(f"{folder}: there are {done} images, not {count}")


def write_folder(cifar, folder, train, test):
    files = glob.glob(os.path.join(cifar, "**", "data_batch_*.bin"), recursive=True)
    if not files:
        sys.exit(f"{cifar}: no data_batch_1.bin is there: CIFAR-10's binary version is wanted")
    base = os.path.dirname(files[0])
    with open(os.path.join(base, "batches.meta.txt"), encoding="utf-8") as file:
        names = file.read().split()
    write_images(sorted(files), train, names, os.path.join(folder, "train"))
    write_images([os.path.join(base, "test_batch.bin")], test, names, os.path.join(folder, "test"))


class Images(torch.utils.data.Dataset):
    """A folder of class folders, in memory as uint8; resized as Pillow does it, normalised by 0.5 and 0.5."""

    def __init__(self, folder, shape):
        channels, height, width = shape
        self.images, self.labels = [], []
        for label, name in enumerate(sorted(os.listdir(folder))):
            for path in sorted(glob.glob(os.path.join(folder, name, "*.png"))):
                image = Image.open(path).convert("L" if channels == 1 else "RGB")
                image = image.resize((width, height), Image.Resampling.BILINEAR)
                self.images.append(torch.from_numpy(numpy.array(image)).reshape(height, width, channels))
                self.labels.append(label)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return (self.images[index].permute(2, 0, 1).float() / 255 - 0.5) / 0.5, self.labels[index]


def evaluate(model, images):
    loader = torch.utils.data.DataLoader(images, batch_size=TEST_BATCH)
    model.eval()
    right, loss = 0, 0.0
    with torch.no_grad():
        for inputs, labels in loader:
            logits = model(inputs)
            right += (logits.argmax(1) == labels).sum().item()
            loss += nn.functional.cross_entropy(logits, labels, reduction="sum").item()
    return right / len(images), loss / len(images)


def train(request):
    torch.set_num_threads(request["threads"])
    torch.manual_seed(request["seed"])
    shape = request["network"]["input"]
    images = Images(os.path.join(request["data"], "train"), shape)
    loader = torch.utils.data.DataLoader(images, batch_size=request["batch_size"], shuffle=True)
    model = torch_steps.Network(request["network"])
    model.load_state_dict(torch_steps.load(request["weights"]), strict=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=request["lr"], momentum=request["momentum"], nesterov=True,
                                weight_decay=request["weight_decay"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, request["epochs"] * len(loader))
    start = time.perf_counter()
    for _ in range(request["epochs"]):
        model.train()
        for inputs, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            schedule.step()
    seconds = time.perf_counter() - start
    accuracy, loss = evaluate(model, Images(os.path.join(request["data"], "test"), shape))
    print(json.dumps({"accuracy": accuracy, "loss": loss, "seconds": seconds, "version": torch.__version__,
                      "images_per_second": request["epochs"] * len(images) / seconds}))


if __name__ == "__main__":
    if sys.argv[1] == "folder":
        write_folder(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
        print(json.dumps({}))
    else:
        with open(sys.argv[2], encoding="utf-8") as text:
            train(json.load(text))
