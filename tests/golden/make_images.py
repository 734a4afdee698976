#!/usr/bin/env python3
"""make_images.py: writes images/ beside itself, with Pillow: image files of every kind, and in pixels.zip what Pillow
makes of them at several sizes, which is what tests/test_images.py compares with. With Pillow before 13: since then it
goes along columns first where that is less work, which changes a rounding here and there.

A member of pixels.zip is called FILE/CHANNELSxHEIGHTxWIDTH and holds the planes, one after the other."""
import io
import os
import random
import struct
import zipfile
import zlib

from PIL import Image

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "images")
SIZES = [(3, 32, 32), (1, 28, 28), (3, 7, 50), (3, 37, 53), (3, 64, 20), (3, 1, 1)]
WIDTH, HEIGHT = 53, 37


def value(x, y, c):
    """Slopes, edges and some noise."""
    noise = random.Random(x * 977 + y * 31 + c).randrange(40)
    return (x * 5 + y * (c + 2) * 3 + (120 if (x // 9 + y // 7 + c) % 2 else 0) + noise) & 255


def picture(mode):
    image = Image.new(mode, (WIDTH, HEIGHT))
    bands = len(image.getbands())
    image.putdata([tuple(value(x, y, c) for c in range(bands)) if bands > 1 else value(x, y, 0)
                   for y in range(HEIGHT) for x in range(WIDTH)])
    return image


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png16(color, channels):
    """16 bits a channel, which Pillow does not write. Its low bytes are noise, to be cut off."""
    rows = b"".join(b"\0" + b"".join(bytes([value(x, y, c), value(y, x, 3)]) for x in range(WIDTH) for c in range(channels))
                    for y in range(HEIGHT))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 16, color, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def interlaced():
    """RGB in Adam7's seven passes, which Pillow does not write."""
    rows = b""
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        for y in range(y0, HEIGHT, dy):
            rows += b"\0" + b"".join(bytes(value(x, y, c) for c in range(3)) for x in range(x0, WIDTH, dx))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 1))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def save(image, kind, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def files():
    rgb = picture("RGB")
    palette = rgb.quantize(17)
    yield "grey.png", save(picture("L"), "PNG")
    yield "grey1.png", save(picture("L").convert("1"), "PNG")
    yield "grey-alpha.png", save(picture("LA"), "PNG")
    yield "rgb.png", save(rgb, "PNG")
    yield "rgba.png", save(picture("RGBA"), "PNG")
    yield "palette.png", save(palette, "PNG")
    yield "palette4.png", save(rgb.quantize(11), "PNG", bits=4)
    yield "palette-alpha.png", save(palette, "PNG", transparency=bytes(range(0, 255, 15)))
    yield "rgb16.png", png16(2, 3)
    yield "rgba16.png", png16(6, 4)
    yield "interlaced.png", interlaced()
    yield "grey.jpg", save(picture("L"), "JPEG", quality=90)
    yield "rgb.jpg", save(rgb, "JPEG", quality=90)
    yield "full-colour.jpeg", save(rgb, "JPEG", quality=95, subsampling=0)
    yield "progressive.jpg", save(rgb, "JPEG", quality=80, progressive=True)
    yield "cmyk.JPG", save(picture("CMYK"), "JPEG", quality=95)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    with zipfile.ZipFile(os.path.join(FOLDER, "pixels.zip"), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files():
            with open(os.path.join(FOLDER, name), "wb") as file:
                file.write(data)
            image = Image.open(io.BytesIO(data))
            for channels, height, width in SIZES:
                made = image.convert("RGB" if channels == 3 else "L").resize((width, height), Image.Resampling.BILINEAR)
                member = zipfile.ZipInfo(f"{name}/{channels}x{height}x{width}")  # no time in it
                member.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(member, b"".join(band.tobytes() for band in made.split()))


if __name__ == "__main__":
    main()
