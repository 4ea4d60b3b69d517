// SPDX-License-Identifier: GPL-2.0-or-later
/* Paths of cgroups as systemd, Docker, containerd, CRI-O, Podman and the kubelet make them. */
#include <stdio.h>
#include <string.h>

#include "unit.h"

#include "core/cgroup_words.h"

#define ID "8f3c1d2e4b5a69788776655443322110ffeeddccbbaa99887766554433221100"
#define ID2 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "1b2c3d4e-5f60-4718-92a3-b4c5d6e7f809"
#define UID_ "1b2c3d4e_5f60_4718_92a3_b4c5d6e7f809"
#define STATIC "2f8a9c0d1e3b4a5968778695a4b3c2d1"

TEST(paths)
{
	static const struct {
		const char *why, *path, *unit, *container, *pod;
	} rows[] = {
		{"the root", "/", "", "", ""},
		{"nothing", "", "", "", ""},
		{"init", "/init.scope", "init.scope", "", ""},
		{"a service", "/system.slice/nginx.service", "nginx.service", "", ""},
		{"of an instance, in a slice of its own",
		 "/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", "",
		 ""},
		{"what a service makes below itself", "/system.slice/nginx.service/worker",
		 "nginx.service", "", ""},
		{"a session", "/user.slice/user-1000.slice/session-3.scope", "session-3.scope", "",
		 ""},
		{"units of a user's manager are its",
		 "/user.slice/user-1000.slice/user@1000.service/app.slice/app-firefox.scope",
		 "user@1000.service", "", ""},
		{"a slice is none", "/user.slice/user-1000.slice", "", "", ""},
		{"a mount", "/system.slice/mnt-data.mount", "mnt-data.mount", "", ""},
		{"a socket", "/system.slice/dbus.socket", "dbus.socket", "", ""},
		{"escaped", "/system.slice/_cpu.service", "cpu.service", "", ""},
		{"a backslash", "/system.slice/dev-disk-by\\x2duuid.swap",
		 "dev-disk-by\\x2duuid.swap", "", ""},
		{"a path of nobody's", "/build/job-17", "", "", ""},
		{"a unit only behind slices", "/build/x.service", "", "", ""},
		{"a suffix alone", "/system.slice/.service", "", "", ""},

		{"Docker, systemd", "/system.slice/docker-" ID ".scope", "docker-" ID ".scope", ID,
		 ""},
		{"Docker, cgroupfs", "/docker/" ID, "", ID, ""},
		{"Docker, a parent of its own", "/my.slice/docker-" ID ".scope",
		 "docker-" ID ".scope", ID, ""},
		{"Docker in Docker", "/docker/" ID "/docker/" ID2, "", ID2, ""},
		{"init of a container with systemd", "/system.slice/docker-" ID ".scope/init.scope",
		 "docker-" ID ".scope", ID, ""},

		{"containerd, systemd, burstable",
		 "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
		 ".slice/cri-containerd-" ID ".scope",
		 "cri-containerd-" ID ".scope", ID, UID},
		{"containerd, systemd, guaranteed",
		 "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope",
		 "cri-containerd-" ID ".scope", ID, UID},
		{"containerd, cgroupfs", "/kubepods/burstable/pod" UID "/" ID, "", ID, UID},
		{"containerd, cgroupfs, guaranteed", "/kubepods/pod" UID "/" ID, "", ID, UID},
		{"containerd, the kubelet's driver and its own differ",
		 "/system.slice/containerd.service/kubepods-besteffort-pod" UID_
		 ".slice:cri-containerd:" ID,
		 "containerd.service", ID, UID},
		{"the pod itself", "/kubepods/besteffort/pod" UID, "", "", UID},
		{"the pod itself, systemd",
		 "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice",
		 "", "", UID},
		{"a static pod", "/kubepods/burstable/pod" STATIC "/" ID, "", ID, STATIC},
		{"a static pod, systemd",
		 "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC
		 ".slice/cri-containerd-" ID ".scope",
		 "cri-containerd-" ID ".scope", ID, STATIC},

		{"CRI-O, systemd",
		 "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
		 ".slice/crio-" ID ".scope",
		 "crio-" ID ".scope", ID, UID},
		{"CRI-O, a level more",
		 "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container",
		 "crio-" ID ".scope", ID, UID},
		{"CRI-O, cgroupfs", "/kubepods/besteffort/pod" UID "/crio-" ID, "", ID, UID},
		{"CRI-O's monitor is not in the container",
		 "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope",
		 "crio-conmon-" ID ".scope", "", UID},

		{"Podman", "/machine.slice/libpod-" ID ".scope/container", "libpod-" ID ".scope",
		 ID, ""},
		{"Podman's monitor", "/machine.slice/libpod-conmon-" ID ".scope",
		 "libpod-conmon-" ID ".scope", "", ""},
		{"Podman, not root",
		 "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
		 ".scope/container",
		 "user@1000.service", ID, ""},
		{"Podman, cgroupfs", "/libpod_parent/libpod-" ID, "", ID, ""},

		{"kind: a cluster in a container",
		 "/system.slice/docker-" ID ".scope/kubelet.slice/kubelet-kubepods.slice/"
		 "kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" UID_
		 ".slice/cri-containerd-" ID2 ".scope",
		 "docker-" ID ".scope", ID2, UID},
		{"ECS", "/ecs/d1f2e3/" ID, "", ID, ""},

		{"63 digits",
		 "/docker/8f3c1d2e4b5a69788776655443322110ffeeddccbbaa9988776655443322110", "", "",
		 ""},
		{"65 digits", "/docker/0" ID, "", "", ""},
		{"capitals are no id",
		 "/docker/8F3C1D2E4B5A69788776655443322110FFEEDDCCBBAA99887766554433221100", "", "",
		 ""},
		{"no uid", "/kubepods/pod1234", "", "", ""},
		{"half a uid", "/kubepods/pod1b2c3d4e-5f60-4718-92a3", "", "", ""},
		{"a word that ends so", "/x/tripod" UID, "", "", ""},
	};
	struct cgroup_words w;

	for (size_t i = 0; i < ROWS(rows); i++) {
		cgroup_words(&w, rows[i].path);
		if (strcmp(w.unit, rows[i].unit) || strcmp(w.container_id, rows[i].container) ||
		    strcmp(w.pod_uid, rows[i].pod))
			fail_msg("%s: %s: '%s' '%s' '%s'", rows[i].why, rows[i].path, w.unit,
				 w.container_id, w.pod_uid);
	}
}

/* Longer than a unit's name may be: none, not a part of it. */
TEST(long_name)
{
	struct cgroup_words w;
	char path[512];

	(void)snprintf(path, sizeof(path), "/system.slice/%0247d.service", 0);
	cgroup_words(&w, path);
	assert_int_equal(strlen(w.unit), 255);
	(void)snprintf(path, sizeof(path), "/system.slice/%0248d.service", 0);
	cgroup_words(&w, path);
	assert_string_equal(w.unit, "");
}

int main(void)
{
	return unit_main(NULL, NULL);
}
