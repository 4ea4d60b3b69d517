/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF objects of the whole guest: what a run leaves behind. */
#ifndef WS_TEST_OBJECTS_H
#define WS_TEST_OBJECTS_H

int bpf_left(void); /* programs, maps and links */
/* More than `before`, after a while: the kernel frees them a little after the last descriptor
 * closes. */
int bpf_left_soon(int before);

#endif
