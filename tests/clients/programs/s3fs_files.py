"""Files in S3 by s3fs: written, appended to, listed, searched, copied, moved, signed for and deleted."""

import json
import urllib.request

import s3fs

files = s3fs.S3FileSystem()
files.mkdir("files")
with files.open("files/in/long.bin", "wb", block_size=5 << 20) as long:
    for _ in range(12):
        long.write(b"x" * (1 << 20))
files.pipe({"files/in/a.txt": b"first\n", "files/in/b.txt": b"second\n"})
with files.open("files/in/a.txt", "ab") as more:
    more.write(b"more\n")
with files.open("files/in/long.bin", "rb") as long:
    long.seek(-3, 2)
    tail = long.read()
files.copy("files/in/a.txt", "files/out/a.txt")
files.mv("files/in/b.txt", "files/out/b.txt")
files.setxattr("files/out/a.txt", copy_kwargs={}, owner="me")
found = {
    "tail": tail.decode(),
    "size": files.info("files/in/long.bin")["size"],
    "listed": sorted(files.find("files")),
    "by pattern": files.glob("files/out/*.txt"),
    "read": files.cat("files/out/a.txt").decode(),
    "owner": files.getxattr("files/out/a.txt", "owner"),
    "signed": urllib.request.urlopen(files.sign("files/out/b.txt")).read().decode(),
    "folders": files.isdir("files/out"),
}
files.rm("files/in", recursive=True)
found["left"] = sorted(files.find("files"))
print(json.dumps(found))
