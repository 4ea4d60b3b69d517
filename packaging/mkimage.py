#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mkimage.py BINARY ARCH VERSION EPOCH OUT: an OCI image layout around the static binary, and OUT.tar of it.

No daemon and no tool: a layer, a configuration, a manifest and an index, by the OCI image specification. The
same input gives the same bytes: the layer is not compressed, since compressors differ.
"""
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
from datetime import datetime, timezone

PORT = "9768/tcp"


def tar_of(files, epoch):
    """Directories and files, (name, mode, bytes or None), all root's and of one time."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, mode, data in files:
            info = tarfile.TarInfo(name)
            info.mode, info.mtime = mode, epoch
            info.type = tarfile.DIRTYPE if data is None else tarfile.REGTYPE
            info.size = len(data or b"")
            tar.addfile(info, io.BytesIO(data or b""))
    return out.getvalue()


def main():
    binary, arch, version, epoch, out = sys.argv[1:]
    epoch = int(epoch)
    with open(binary, "rb") as f:
        program = f.read()
    blobs = {}

    def blob(kind, data):
        data = data if isinstance(data, bytes) else json.dumps(data, sort_keys=True).encode()
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": "sha256:" + digest, "size": len(data)}

    layer = blob("layer.v1.tar", tar_of(
        [(d, 0o755, None) for d in ("usr", "usr/sbin", "dev", "proc", "sys", "etc")] +
        [("tmp", 0o1777, None), ("usr/sbin/waitscope", 0o755, program)], epoch))
    created = datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = blob("config.v1+json", {
        "architecture": arch, "os": "linux", "created": created,
        "config": {"Entrypoint": ["/usr/sbin/waitscope", "--listen", "0.0.0.0:9768"],
                   "Cmd": ["-s", "sched", "-i", "15s"], "ExposedPorts": {PORT: {}},
                   "Labels": {"org.opencontainers.image.title": "waitscope",
                              "org.opencontainers.image.version": version,
                              "org.opencontainers.image.licenses": "GPL-2.0-or-later"}},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
        "history": [{"created": created, "created_by": "make image"}]})
    manifest = blob("manifest.v1+json", {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                                         "config": config, "layers": [layer]})
    manifest["platform"] = {"architecture": arch, "os": "linux"}
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version}
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(os.path.join(out, "blobs/sha256"))
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
             "index.json": json.dumps({"schemaVersion": 2, "manifests": [manifest]}, sort_keys=True).encode(),
             **{"blobs/sha256/" + digest: data for digest, data in blobs.items()}}
    for name, data in files.items():
        with open(os.path.join(out, name), "wb") as f:
            f.write(data)
    with open(out + ".tar", "wb") as f:
        f.write(tar_of([("blobs", 0o755, None), ("blobs/sha256", 0o755, None)] +
                       [(name, 0o644, data) for name, data in sorted(files.items())], epoch))
    print(out + ".tar")


main()
