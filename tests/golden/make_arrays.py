#!/usr/bin/env python3
"""make_arrays.py: writes arrays.npz beside itself, with numpy. tests/test_sets.py has what is in it."""
import os

import numpy

numpy.savez_compressed(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "arrays.npz"),
    x_train=(numpy.arange(4 * 90) * 7 + 4).astype("uint8").reshape(4, 3, 6, 5), y_train=numpy.array([0, 2, 1, 2]),
    x_test=(numpy.arange(2 * 90) * 7 + 2).astype("uint8").reshape(2, 3, 6, 5), y_test=numpy.array([[1], [3]]))
