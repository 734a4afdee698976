"""article_torch.py DATA STEPS WARM THREADS: the article's training in PyTorch, as its script does it, for STEPS steps.

DataLoader with 2 workers, batch 4, shuffled, PIL image -> ToTensor -> Normalize, SimpleCNN, SGD, loss.item() each
step. The dataset reads the files itself, because torchvision's accepts only the published bytes; the transforms are
torchvision's where it is installed, else made by hand with the same work for each image. Ends with a line of JSON:
images/s after the first WARM steps, in which the workers start.
"""
import glob
import json
import os
import pickle
import sys
import time

import numpy
import torch
from PIL import Image
from torch import nn

try:
    from torchvision import transforms
except ImportError:
    transforms = None

# folder, its files of training images, that of test images
LAYOUTS = {"bin": ("cifar-10-batches-bin", "data_batch_*.bin", "test_batch.bin"),
           "py": ("cifar-10-batches-py", "data_batch_?", "test_batch")}


def read_binary(path):
    records = numpy.fromfile(path, numpy.uint8).reshape(-1, 3073)
    return records[:, 1:], records[:, 0].tolist()


def read_python(path):
    with open(path, "rb") as file:
        content = pickle.load(file, encoding="latin1")
    return content["data"], content["labels"]


def normalise(tensor):
    return tensor.sub_(torch.full((3, 1, 1), 0.5)).div_(torch.full((3, 1, 1), 0.5))


def to_tensor(image):
    data = torch.from_numpy(numpy.array(image, numpy.uint8, copy=True))
    return data.view(image.size[1], image.size[0], 3).permute((2, 0, 1)).contiguous().to(torch.float32).div(255)


class Images(torch.utils.data.Dataset):
    """As torchvision.datasets.CIFAR10 keeps and gives them."""

    def __init__(self, data, train):
        for kind, (name, *patterns) in LAYOUTS.items():
            folder = data if os.path.basename(os.path.abspath(data)) == name else os.path.join(data, name)
            paths = sorted(glob.glob(os.path.join(folder, patterns[0 if train else 1])))
            if paths:
                break
        else:
            sys.exit(f"no CIFAR-10 in {data}")
        parts = [read_python(path) if kind == "py" else read_binary(path) for path in paths]
        self.data = numpy.vstack([images for images, _ in parts]).reshape(-1, 3, 32, 32).transpose((0, 2, 3, 1))
        self.targets = [label for _, labels in parts for label in labels]
        if transforms:
            self.transform = transforms.Compose(
                [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])
        else:
            self.transform = lambda image: normalise(to_tensor(image))

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.transform(Image.fromarray(self.data[index])), self.targets[index]


class SimpleCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc = nn.Linear(16 * 15 * 15, 10)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(torch.relu(self.conv1(x))), 1))


def main(data, steps, warm, threads):
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    train, test = Images(data, True), Images(data, False)
    loader = torch.utils.data.DataLoader(train, batch_size=4, shuffle=True, num_workers=2)
    model, criterion = SimpleCNN(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    running, start, done = 0.0, None, 0
    while done < steps:
        for inputs, labels in loader:
            if done == warm:
                start, running = time.perf_counter(), 0.0
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            running += loss.item()
            done += 1
            if done == steps:
                break
    seconds = time.perf_counter() - start
    print(json.dumps({"images_per_second": (steps - warm) * 4 / seconds, "loss": running / (steps - warm),
                      "steps": steps, "images": len(train) + len(test), "version": torch.__version__,
                      "transforms": "torchvision" if transforms else "by hand"}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
