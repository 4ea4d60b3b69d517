/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the path of a cgroup says of who runs in it: systemd's unit, and the container and pod of
 * Docker, containerd, CRI-O and Podman, with either cgroup driver. By the path alone: nobody is
 * asked.
 */
#ifndef WS_CGROUP_WORDS_H
#define WS_CGROUP_WORDS_H

#define CGROUP_NONE "(none)" /* a group's name, where the path does not say */

struct cgroup_words {
	char unit[256]; /* "nginx.service": of the system manager's units the innermost; "" */
	char container_id[65]; /* 64 hexadecimal digits; "" */
	char pod_uid[37];      /* "1b2c3d4e-5f60-..."; of a static pod 32 digits; "" */
};

/* "/kubepods.slice/.../cri-containerd-<id>.scope" */
void cgroup_words(struct cgroup_words *w, const char *path);

#endif
