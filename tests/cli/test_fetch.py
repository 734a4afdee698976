"""claret fetch against a server on loopback that does all that servers and networks do wrong."""
import gzip
import hashlib
import http.server
import io
import os
import socket
import tarfile
import threading
import time

import harness
from harness import have

FOLDER = "cifar-10-batches-bin"
ARCHIVE = "cifar-10-binary.tar.gz"
BODY = os.urandom(300000)


def member(name, data=b"", **settings):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    for key, value in settings.items():
        setattr(entry, key, value)
    return entry, data


def tar_gz(*members):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for entry, data in members:
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def good_archive():
    return tar_gz(member(FOLDER, type=tarfile.DIRTYPE, mode=0o755), member(FOLDER + "/data.bin", BODY),
                  member(FOLDER + "/readme.html", b"hello"))


def md5(data):
    return hashlib.md5(data).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def do_GET(self):
        server = self.server
        server.requests.append((self.path, self.headers.get("Range")))
        start = 0
        if self.headers.get("Range") and server.ranges:
            start = int(self.headers["Range"].split("=")[1].split("-")[0])
        name = self.path.rpartition("/")[2]
        if name not in server.files:
            return self.send_error(404)
        data = server.files[name]
        if start >= len(data):
            return self.send_error(416)
        body = data[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        server.behave(self, body)

    def whole(self, body, length=None):
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)


class Server(harness.Case):
    def setUp(self):
        super().setUp()
        if not {"CURL", "LIBARCHIVE"} <= have:
            self.skipTest("built without libcurl or libarchive")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *details: None  # a client that goes away is part of the test
        self.server.files, self.server.requests, self.server.ranges = {}, [], True
        self.server.behave = Handler.whole
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.env["no_proxy"] = "127.0.0.1"
        self.archive = good_archive()
        self.server.files[ARCHIVE] = self.archive

    def fetch(self, *words, code=0, url=None, digest=None, **keywords):
        return self.run_claret("fetch", "cifar10", "--out", "d", "--url", url or self.url, "--md5",
                               digest or md5(self.archive), "--timeout", "1", *words, code=code, **keywords)

    def check(self):
        self.assertEqual(self.files("d"), [FOLDER + "/data.bin", FOLDER + "/readme.html", ARCHIVE])
        with open(self.path("d", FOLDER, "data.bin"), "rb") as file:
            self.assertEqual(file.read(), BODY)

    def nothing(self, *rest):
        self.assertEqual(self.files("d"), sorted(rest))


class Right(Server):
    def test_fetched(self):
        result = self.fetch()
        self.assertEqual(result.out, f"cifar10 is in d/{FOLDER}\n")
        self.check()
        # What is there is used: the archive, and at last the unpacked files.
        os.remove(self.path("d", FOLDER, "data.bin"))
        self.fetch()
        self.check()
        self.assertEqual(len(self.server.requests), 1)

    def test_json_and_whole_address(self):
        result = self.fetch("--json", url=self.url + "x/" + ARCHIVE)
        self.assertEqual(self.json(result), {"set": "cifar10", "folder": "d/" + FOLDER})
        self.check()

    def test_unpacked_is_there(self):
        for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
            os.truncate(self.write(f"d/{FOLDER}/{name}", b""), 30730000)
        self.run_claret("fetch", "cifar10", "--out", "d")  # without a network
        self.assertEqual(self.server.requests, [])
        os.truncate(self.path("d", FOLDER, "test_batch.bin"), 30729999)
        self.fetch()
        self.assertEqual(len(self.server.requests), 1)

    def test_several_files(self):
        files = {name: gzip.compress(name.encode()) for name in
                 ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz",
                  "t10k-labels-idx1-ubyte.gz")}
        self.server.files = dict(files)
        words = ("fetch", "fashion-mnist", "--out", "d", "--url", self.url.rstrip("/"), "--md5",
                 ",".join(md5(data).upper() for data in files.values()))
        self.run_claret(*words)
        self.assertEqual(self.files("d"), sorted("fashion-mnist/" + name for name in files))
        self.run_claret(*words)
        self.assertEqual(len(self.server.requests), 4)
        os.remove(self.path("d/fashion-mnist/t10k-images-idx3-ubyte.gz"))
        self.run_claret(*words)
        self.assertEqual(len(self.server.requests), 5)

    def test_from_a_file(self):
        self.write("mirror/" + ARCHIVE, self.archive)
        self.fetch(url="file://" + self.path("mirror") + "/")
        self.check()

    def test_proxy(self):
        """The loopback server stands for the proxy: it is asked for the whole address."""
        env = {"http_proxy": self.url, "no_proxy": None}
        self.fetch(url="http://data.invalid/" + ARCHIVE, env=env)
        self.assertEqual(self.server.requests[0][0], "http://data.invalid/" + ARCHIVE)
        self.check()


class Resumed(Server):
    def part(self, size):
        self.write(f"d/{ARCHIVE}.part", self.archive[:size])

    def test_after_a_break(self):
        self.part(100000)
        self.fetch()
        self.check()
        self.assertEqual([wanted for _, wanted in self.server.requests], ["bytes=100000-"])

    def test_server_without_ranges(self):
        self.server.ranges = False
        self.part(1000)
        self.fetch()
        self.check()

    def test_part_of_something_else(self):
        self.write(f"d/{ARCHIVE}.part", b"x" * 1000)
        result = self.fetch()
        self.assertIn("trying again from the start", result.err)
        self.check()

    def test_part_that_is_all_or_more(self):
        self.part(len(self.archive))
        self.fetch()
        self.check()

    def test_connection_that_breaks(self):
        """Each answer ends too early; the tries go on where the last one stopped."""
        def behave(handler, body):
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body[:120000])
            handler.close_connection = True

        self.server.behave = behave
        result = self.fetch()
        self.check()
        self.assertEqual([wanted for _, wanted in self.server.requests], [None, "bytes=120000-", "bytes=240000-"])
        self.assertIn("trying again from there", result.err)

    def test_killed_and_run_again(self):
        def behave(handler, body):
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body[:200000])
            handler.wfile.flush()
            time.sleep(5)

        self.server.behave = behave
        process = self.start("fetch", "cifar10", "--out", "d", "--url", self.url, "--md5", md5(self.archive))
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (os.path.exists(self.path(f"d/{ARCHIVE}.part")) and
                                                   os.path.getsize(self.path(f"d/{ARCHIVE}.part")) > 100000):
            time.sleep(0.02)
        process.kill()
        self.finish(process)
        had = os.path.getsize(self.path(f"d/{ARCHIVE}.part"))
        self.assertGreater(had, 0)
        self.server.behave = Handler.whole
        self.fetch()
        self.assertEqual(self.server.requests[-1][1], f"bytes={had}-")
        self.check()


class Wrong(Server):
    def failed(self, *says, kept=(), **keywords):
        result = self.fetch(code=1, **keywords)
        for text in (*says, "could not be fetched", "--url", "https_proxy"):
            self.assertIn(text, result.err, str(result))
        self.nothing(*kept)

    def test_not_there(self):
        self.failed("404", url=self.url + "nothing.tar.gz")
        self.assertEqual(len(self.server.requests), 1)

    def test_nobody_listens(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.failed("onnect", url=f"http://127.0.0.1:{free.getsockname()[1]}/")

    def test_stalls(self):
        def behave(handler, body):
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body[:1000])
            handler.wfile.flush()
            time.sleep(30)

        self.server.behave = behave
        self.failed("nothing came for 1 s", "kept in d/" + ARCHIVE + ".part", kept=[ARCHIVE + ".part"])
        self.assertEqual(self.server.requests[1][1], "bytes=1000-")

    def test_throttles(self):
        """Slow is not stalled: longer in all than the patience with silence."""
        def behave(handler, body):
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            for i in range(10):
                handler.wfile.write(body[i * len(body) // 10:(i + 1) * len(body) // 10])
                handler.wfile.flush()
                time.sleep(0.3)

        self.server.behave = behave
        self.fetch()
        self.check()
        self.assertEqual(len(self.server.requests), 1)

    def test_truncates(self):
        def behave(handler, body):
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body[:-1] if len(body) > 1 else b"")
            handler.close_connection = True

        self.server.behave = behave
        self.failed("1 bytes remaining", kept=[ARCHIVE + ".part"])

    def test_says_less_than_it_has(self):
        self.server.behave = lambda handler, body: handler.whole(body[:5000])
        self.failed("its MD5 is ")

    def test_says_more_than_it_has(self):
        def behave(handler, body):
            handler.whole(body, len(body) + 1000)
            handler.close_connection = True

        self.server.behave = behave
        self.fetch()  # the digest counts
        self.check()

    def test_another_size_than_published(self):
        """Without --md5 the size is known, and nothing of another one is read."""
        result = self.run_claret("fetch", "cifar10", "--out", "d", "--url", self.url, code=1)
        self.assertIn(f"the server has {len(self.archive)} bytes, where 170052171 are expected", result.err)
        self.nothing()

    def test_sends_more_than_published(self):
        """MNIST's smallest file is 4542 bytes; a server that states no size sends for ever."""
        def behave(handler, body):
            handler.send_header("Connection", "close")
            handler.end_headers()
            try:
                while True:
                    handler.wfile.write(bytes(10000))
            except OSError:
                pass

        self.server.behave = behave
        self.server.files = {"train-images-idx3-ubyte.gz": b"x"}
        result = self.run_claret("fetch", "mnist", "--out", "d", "--url", self.url, code=1)
        self.assertIn("the server sends more than the file has", result.err)
        self.nothing()

    def test_wrong_digest(self):
        self.failed(f"its MD5 is {md5(self.archive)}, where {'0' * 32} is expected", digest="0" * 32)

    def test_copy_that_is_wrong(self):
        self.write("d/" + ARCHIVE, b"something of the user's")
        result = self.fetch(code=1)
        for text in (f"d/{ARCHIVE}: its MD5 is", "remove it to have it fetched"):
            self.assertIn(text, result.err)
        self.nothing(ARCHIVE)
        self.assertEqual(self.server.requests, [])

    def test_redirected_elsewhere(self):
        self.write("secret", b"x")

        def behave(handler, body):
            handler.send_header("Location", "file://" + self.path("secret"))
            handler.whole(b"")

        self.server.behave = behave
        self.server.files = {ARCHIVE: b"x"}
        original = Handler.send_response

        def moved(handler, code, message=None):
            original(handler, 302 if code == 200 else code, message)

        Handler.send_response = moved
        self.addCleanup(setattr, Handler, "send_response", original)
        self.failed("file")

    def test_disk_that_is_full(self):
        os.mkdir(self.path("d"))
        os.symlink("/dev/full", self.path("d", ARCHIVE + ".part"))
        result = self.fetch(code=1)
        self.assertRegex(result.err, rf"d/{ARCHIVE}\.part: cannot be written: No space left")

    def test_folder_that_cannot_be_made(self):
        self.write("d", b"")
        self.assertRegex(self.fetch(code=1).err, "claret: d: the folder cannot be made")

    def test_usage(self):
        self.refused("fetch", code=2, says=["needs a data set", "cifar10", "fashion-mnist"])
        self.refused("fetch", "cifar11", code=2, says="did you mean 'cifar10'")
        self.refused("fetch", "imagenet", code=2, says="there are cifar10, cifar100, mnist and fashion-mnist")
        for digest in ("", "12", "g" * 32, "0" * 33, "0" * 32 + ","):
            self.refused("fetch", "cifar10", "--md5", digest, code=2, says="is not a digest of 32")
        self.refused("fetch", "mnist", "--md5", "0" * 32, code=2, says="four digests")
        for seconds in ("0", "-1", "x", "", "1.5", "100000"):
            self.refused("fetch", "cifar10", "--timeout=" + seconds, code=2, says="--timeout: ")
        self.refused("fetch", "cifar10", "--url=", code=2, says="--url")
        self.refused("fetch", "cifar10", "--out=", code=2, says="--out")
        self.refused("fetch", "cifar10", "--out", "d", "--url", "gopher://x/", code=1, says="rotocol")


class Archives(Server):
    """What is in the archive, once its digest is as expected."""

    def unpack(self, data, *says):
        self.archive = self.server.files[ARCHIVE] = data
        for name in self.files("d"):
            os.remove(self.path("d", name))
        result = self.fetch(code=1)
        for text in says:
            self.assertIn(text, result.err, str(result))
        self.nothing(ARCHIVE)
        self.assertEqual(sorted(os.listdir(self.folder)), ["d", "vendors"])
        self.assertEqual(os.listdir(self.path("d")), [ARCHIVE])

    def test_members_that_would_leave(self):
        good = member(FOLDER + "/data.bin", BODY)
        link = {"type": tarfile.SYMTYPE, "linkname": "/etc"}
        for bad in (member("../evil", b"x"), member("/tmp/claret-evil", b"x"), member(FOLDER + "/../../evil", b"x"),
                    member(FOLDER + "/..", b"x"), member("evil", b"x"), member(FOLDER + "x/evil", b"x"),
                    member(FOLDER + "/a/b", b"x"), member(FOLDER + "/a", type=tarfile.DIRTYPE),
                    member(FOLDER, **link), member(FOLDER + "/link", **link),
                    member(FOLDER + "/hard", type=tarfile.LNKTYPE, linkname="../../evil"),
                    member(FOLDER + "/fifo", type=tarfile.FIFOTYPE), member(FOLDER + "/null", type=tarfile.CHRTYPE),
                    member(FOLDER + "/.hidden", b"x")):
            for members in ((bad,), (good, bad)):
                self.unpack(tar_gz(*members), f"its member '{bad[0].name}", "nothing was unpacked")
        self.assertFalse(os.path.exists("/tmp/claret-evil"))

    def test_damaged(self):
        good = good_archive()
        self.unpack(b"no archive at all" * 100, "cannot be unpacked")
        self.unpack(good[:len(good) // 2], "cannot be unpacked")
        self.unpack(good[:12] + bytes([255] * 60) + good[72:], "cannot be unpacked")
        self.unpack(tar_gz(), "no files in it")

    def test_rest_of_an_interrupted_one(self):
        self.write(f"d/.{FOLDER}.unpacking/data.bin", b"half")
        self.write(f"d/.{FOLDER}.unpacking/other.bin", b"half")
        self.fetch()
        self.check()


class Without(harness.Case):
    def test_without_curl(self):
        if "CURL" in have:
            self.skipTest("built with libcurl")
        self.refused("fetch", "cifar10", code=1, says=["without libcurl", "https://www.cs.toronto.edu", "c32a1d4ab5d03f12"])


if __name__ == "__main__":
    harness.main(device=False)
