/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of addresses in processes are found by two children of ours, for what is read there was
 * written by others (ELF, DWARF, perf maps, mangled symbols):
 *
 *	main (client.c, child.c)	knows questions and answers, no foreign byte, no file
 *	  | ^  struct ask, struct tell
 *	  v |
 *	worker (worker.c, user*.c, elf_*.c, dwarf_*.c, demangle.c)
 *	  | ^				reads and parses; no capabilities, no open, no socket,
 *	  | |				no exec (sandbox.c)
 *	  | |  struct open_ask, struct open_tell and the files' descriptors
 *	  v |
 *	opener (opener.c, opener_open.c)  opens, with the privileges that main has; parses nothing
 *
 * Both are started at the first question, by an exec of our own file (child.c). Each can be lost at
 * any moment: main waits for no answer longer than names.h says, ends what is stuck without waiting
 * for its end, and starts another. An answer is as foreign as what it was made of.
 *
 * Messages have a fixed size, over SOCK_SEQPACKET, which keeps them apart; one of another length is
 * the end of whoever sent it.
 */
#ifndef WS_NAMES_WIRE_H
#define WS_NAMES_WIRE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "names/names.h"

/* ---- files ---- */

#define BUILD_ID_MAX 64

/* Device, inode, size and time of change stand for its contents. ino 0: none. */
struct file_id {
	uint64_t dev, ino, size;
	int64_t changed_ns;
};

static inline int file_id_same(const struct file_id *a, const struct file_id *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->size == b->size &&
	       a->changed_ns == b->changed_ns;
}

/* ---- main asks the worker ---- */

enum ask_type {
	ASK_PROCESS = 1, /* read its maps, hold its files */
	ASK_NOTE,	 /* the same, and look at addr already; no answer */
	ASK_NAME,
	ASK_SYMBOL,
	ASK_MAPPED,
	ASK_TRIM,   /* no answer */
	ASK_REFUSE, /* `file` (or pid, if file.ino is 0) is not looked at any more; no answer */
	ASK_OPENER, /* carries the socket of a new opener; no answer */
};

struct ask {
	uint32_t type;
	uint32_t seq; /* the answer has it too */
	uint32_t pid;
	uint32_t what;	/* ASK_NOTE, ASK_NAME: enum name_what */
	uint32_t frame; /* ASK_NAME: of code, 0 is the innermost */
	uint32_t pad;
	uint64_t addr;	/* 0 in ASK_NOTE: none */
	uint64_t space; /* as in struct name_process */
	struct file_id file;
	char symbol[NAME_LEN];
};

enum tell_type {
	TELL_REGION = 1, /* what is known of the address already; the answer is still to come */
	TELL_ANSWER,
	TELL_REFUSED, /* this file, or process, took too long: its names are not looked for again */
	TELL_OPENER,  /* the opener does not answer: give me another */
};

struct tell {
	uint32_t type;
	uint32_t seq;
	int32_t status;
	uint32_t found;	  /* enum name_found */
	uint32_t refused; /* there may be more to say: not in the time there was, or never */
	uint32_t pid;
	uint32_t inlined_in; /* as in struct name */
	uint32_t pad;
	uint64_t addr, size;
	struct file_id file;
	char text[NAME_LEN];
	char place[NAME_PLACE_LEN];
};

/* What the worker is at, in memory that it shares with main: to be read when it has been lost. */
struct mark {
	uint32_t pid;
	uint32_t wanted;     /* from main: questions before this one nobody waits for any more */
	struct file_id file; /* ino 0: none yet */
};

/* ---- the worker asks the opener ---- */

enum open_type {
	OPEN_PROCESS = 1, /* start, prefix; its maps, and its root if it is not ours */
	OPEN_START,	  /* start */
	OPEN_MAPPED,	  /* the file behind its mapping start-end */
	OPEN_BUILD_ID,	  /* below DEBUG_DIR: of the root that came along, or ours */
	OPEN_LINK,	  /* `name` where .gnu_debuglink may mean: `which` of OPEN_LINKS places */
	OPEN_ALT,	  /* `path`, of the root that came along; of ours only below DEBUG_DIR */
	OPEN_SPLIT,	  /* `path`, a .dwo file, of the root that came along or ours */
	OPEN_PERF_MAP,
	OPEN_FETCH, /* by build-id, from DEBUGINFOD_URLS; -EAGAIN: it is on its way */
};

#define DEBUG_DIR "/usr/lib/debug"
#define OPEN_LINKS 3 /* DIR/NAME, DIR/.debug/NAME, DEBUG_DIR/DIR/NAME */
#define OPEN_NAME_LEN 256

struct open_ask {
	uint32_t type;
	uint32_t pid;
	uint64_t start, end; /* of the mapping; "0": 0 */
	uint32_t which;
	uint32_t id_len;
	uint8_t id[BUILD_ID_MAX];
	char name[OPEN_NAME_LEN];
	char path[PATH_MAX]; /* OPEN_LINK: the directory of the program */
};

struct open_tell {
	int32_t status;	       /* 0 or negative errno */
	uint32_t has_root;     /* OPEN_PROCESS: a second descriptor, its root */
	uint64_t start;	       /* when the process started; 0: it has ended */
	uint64_t space;	       /* of its addresses; 0: not known */
	char prefix[PATH_MAX]; /* OPEN_PROCESS: what its paths begin with in a chroot */
};

/* ---- the wire ---- */

#define WIRE_FDS 2

/* Of descriptors that come along (at most WIRE_FDS): -1 where there is none. */
struct wire_fds {
	int v[WIRE_FDS];
};

/* 0, or negative errno: -EAGAIN (full, with `wait` false), -EPIPE. fds: NULL or descriptors. */
int wire_send(int sock, const void *msg, size_t len, const struct wire_fds *fds, bool wait);
/*
 * 0, -EAGAIN (nothing there), -EPIPE (closed, or no message of that length). fds may be NULL: none
 * are taken then. Those that came are the caller's.
 */
int wire_receive(int sock, void *msg, size_t len, struct wire_fds *fds);
void wire_close_fds(struct wire_fds *fds);
/* Until a message lies there: true; false at until_ns of CLOCK_MONOTONIC. */
bool wire_wait(int sock, uint64_t until_ns);

#endif
