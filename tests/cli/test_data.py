"""Data sets from the command line: found, fitted to the network, refused with what to change."""
import struct

import harness


def idx(dims, data):
    return bytes([0, 0, 8, len(dims)]) + b"".join(struct.pack(">I", d) for d in dims) + data


class Mnist(harness.Case):
    def setUp(self):
        super().setUp()
        for split, count in (("train", 40), ("t10k", 20)):
            self.write(f"data/{split}-images-idx3-ubyte",
                       idx([count, 6, 6], bytes(255 * (j // 4 == i % 9) for i in range(count) for j in range(36))))
            self.write(f"data/{split}-labels-idx1-ubyte", idx([count], bytes(i % 9 for i in range(count))))

    def net(self, size, classes):
        self.write("my.net", f"input {size}\nflatten\nlinear out_features={classes}\n")

    def test_trains(self):
        self.net("1 6 6", 10)
        result = self.run_claret("train", "--model", "my.net", "--epochs", "40", "--lr", "0.1")
        self.assertIn("accuracy: 100.00% (20/20)", result.out)
        self.run_claret("eval", "--model", "my.net", "--weights", "runs/my-001/weights.safetensors", "--data", "data")

    def test_misfits(self):
        self.refused("train", "-o", "run", code=1,
                     says=["images are 1x6x6", "simplecnn takes 3x32x32", "to: input 1 6 6"])
        self.net("1 6 6", 7)
        self.refused("train", "--model", "my.net", "-o", "run", code=1,
                     says=["data has 10 classes", "my gives 7", "out_features to 10"])
        self.refused("train", "--coarse-labels", "-o", "run", code=2, says=["CIFAR-100's", "MNIST"])
        self.assertEqual(self.files("run"), [])


if __name__ == "__main__":
    harness.main()
