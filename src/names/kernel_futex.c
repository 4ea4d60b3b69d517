// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Buckets of the tables that futexes hash to. Since 6.16 a process with threads has a table of its
 * own, whose buckets point back at it; a futex that processes share, and before 6.16 any, is in the
 * global table. That is a static variable, whose symbol only CONFIG_KALLSYMS_ALL has: a thread of
 * our own sleeps on a shared futex, and what the kernel queues for it says in which bucket.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "names/kernel.h"

#define BUCKET "futex_hash_bucket"
#define ALIGN 64U /* a bucket begins with a cache line */
#define BUCKET_MAX 512U
#define RETRY_NS 10000000000ULL

struct layout {
	int64_t bytes, lock, chain;
	int64_t priv;		  /* of a bucket: the table that it is in; negative: none */
	int64_t mm, mask, queues; /* of that table */
	int64_t now, next;	  /* of mm_struct: its tables */
};

static int read_layout(struct names_kernel *k, struct layout *l)
{
	const struct kernel_member want[] = {
		{&l->lock, BUCKET, "lock"},
		{&l->chain, BUCKET, "chain.node_list"},
		{&l->priv, BUCKET, "priv"},
		{&l->mm, "futex_private_hash", "mm"},
		{&l->mask, "futex_private_hash", "hash_mask"},
		{&l->queues, "futex_private_hash", "queues"},
		{&l->now, "mm_struct", "futex_phash"},
		{&l->next, "mm_struct", "futex_phash_new"},
	};

	l->bytes = kernel_size(k, BUCKET, NULL);
	(void)kernel_offsets(k, want, sizeof(want) / sizeof(want[0])); /* some kernels lack most */
	return l->bytes < ALIGN || l->bytes > BUCKET_MAX || l->bytes % ALIGN || l->lock < 0 ||
			       l->chain < 0
		       ? -ENOENT
		       : 0;
}

/* ---- a process's own table ---- */

/* The mm_struct whose table has a bucket there; 0: none. */
static uint64_t private_mm(struct names_kernel *k, const struct layout *l, uint64_t bucket)
{
	uint64_t table, mm, first;

	if (l->priv < 0 || l->mm < 0 || l->mask < 0 || l->queues < 0)
		return 0;
	table = kernel_at(k, bucket, l->priv);
	mm = kernel_at(k, table, l->mm);
	if (!mm || (kernel_at(k, mm, l->now) != table && kernel_at(k, mm, l->next) != table))
		return 0;
	first = table + (uint64_t)l->queues;
	if (bucket < first || (bucket - first) % (uint64_t)l->bytes ||
	    (bucket - first) / (uint64_t)l->bytes > peek_u32(&k->peek, table + (uint64_t)l->mask))
		return 0;
	return mm;
}

/* ---- the global table ---- */

/*
 * Empty lists of a bucket point at themselves, and at that place; others point at what is queued,
 * on somebody's stack.
 */
static bool looks_global(const struct layout *l, uint64_t bucket, const uint8_t *bytes, bool *empty)
{
	uint64_t list = bucket + (uint64_t)l->chain, next, prev, priv = 0;

	memcpy(&next, bytes + l->chain, sizeof(next));
	memcpy(&prev, bytes + l->chain + 8, sizeof(prev));
	if (l->priv >= 0)
		memcpy(&priv, bytes + l->priv, sizeof(priv));
	*empty = next == list && prev == list;
	return !priv && next >> 63 && prev >> 63 && (next == list) == (prev == list);
}

/* All buckets of [from, to] look like it, and a bucket is empty far more often than not. */
static bool looks_like_table(struct names_kernel *k, const struct layout *l, uint64_t from,
			     uint64_t to)
{
	uint64_t bytes = (uint64_t)l->bytes, n = 0, empties = 0, i;
	uint8_t window[8 * BUCKET_MAX];
	bool empty;

	for (; from <= to; from += sizeof(window) / bytes * bytes) {
		peek_window(&k->peek, from, window, sizeof(window));
		for (i = 0; i < sizeof(window) / bytes && from + i * bytes <= to; i++, n++) {
			if (!looks_global(l, from + i * bytes, window + i * bytes, &empty))
				return false;
			empties += empty;
		}
	}
	return n <= 2 || 2 * empties >= n;
}

/* As the kernel sizes it: 256 a possible CPU, to the next power of two. */
static uint64_t table_bytes(struct names_kernel *k, const struct layout *l)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t n = 1;

	while (n < 256 * (uint64_t)(cpus > 0 ? cpus : 1))
		n *= 2;
	return n * (uint64_t)l->bytes;
}

struct sleeper {
	struct names_kernel *k;
	_Atomic uint64_t task; /* its task_struct; 0: not yet told */
	_Atomic int stage;     /* 1: told */
	uint32_t word;	       /* the futex */
};

#define SLEEP_NS 500000000L /* should nobody wake it */

static void *sleep_on_futex(void *arg)
{
	const struct timespec limit = {0, SLEEP_NS};
	struct sleeper *s = arg;

	s->task = peek_task(&s->k->peek); /* the other thread waits: the programs are ours */
	s->stage = 1;
	if (s->task)
		(void)syscall(SYS_futex, &s->word, FUTEX_WAIT, 0, &limit, NULL, 0);
	return NULL;
}

#define STACK_BYTES 16384U /* of the kernel's, for a task */
#define QUEUED_MAX 64	   /* looked at in a bucket */

/* Is `entry` queued in the bucket? */
static bool is_queued(struct names_kernel *k, const struct layout *l, uint64_t bucket,
		      uint64_t entry)
{
	uint64_t list = bucket + (uint64_t)l->chain, to = kernel_at(k, list, 0);
	int left = QUEUED_MAX;

	while (to && to != list && to != entry && left--)
		to = kernel_at(k, to, 0);
	return to == entry;
}

/* The bucket in which `task` sleeps: on its stack lies what is queued there, and says whose it is
 * and which lock guards it. */
static uint64_t bucket_of_task(struct names_kernel *k, const struct layout *l, uint64_t task)
{
	int64_t stack = kernel_offset(k, "task_struct", "stack");
	int64_t q_task = kernel_offset(k, "futex_q", "task");
	int64_t q_lock = kernel_offset(k, "futex_q", "lock_ptr");
	int64_t q_list = kernel_offset(k, "futex_q", "list.node_list");
	uint64_t base = kernel_at(k, task, stack), word, q, bucket;
	uint8_t bytes[STACK_BYTES];

	if (!base || q_task < 0 || q_lock < 0 || q_list < 0)
		return 0;
	peek_window(&k->peek, base, bytes, sizeof(bytes));
	for (size_t i = (size_t)q_task; i + 8 <= sizeof(bytes); i += 8) {
		memcpy(&word, bytes + i, sizeof(word));
		if (word != task)
			continue;
		q = base + i - (uint64_t)q_task;
		bucket = kernel_at(k, q, q_lock) - (uint64_t)l->lock;
		if (!(bucket % ALIGN) && is_queued(k, l, bucket, q + (uint64_t)q_list))
			return bucket;
	}
	return 0;
}

#define LOOKS 100
#define LOOK_NS 1000000L /* until it sleeps */

/* One bucket of the global table: 0 if it cannot be found. */
static uint64_t find_global(struct names_kernel *k, const struct layout *l)
{
	const struct timespec pause = {0, LOOK_NS};
	struct sleeper s = {.k = k};
	uint64_t bucket = 0;
	pthread_t thread;
	int left = LOOKS;

	if (pthread_create(&thread, NULL, sleep_on_futex, &s))
		return 0;
	while (!s.stage)
		(void)nanosleep(&pause, NULL); /* shorter is as good */
	while (s.task && !bucket && left--) {
		(void)nanosleep(&pause, NULL);
		bucket = bucket_of_task(k, l, s.task);
	}
	(void)syscall(SYS_futex, &s.word, FUTEX_WAKE, 1, NULL, NULL, 0); /* or it wakes by itself */
	(void)pthread_join(thread, NULL);
	return bucket;
}

static bool is_global(struct names_kernel *k, const struct layout *l, uint64_t bucket)
{
	struct futexes *f = &k->futexes;
	uint64_t from, to;

	if (!looks_like_table(k, l, bucket, bucket))
		return false;
	if (!f->bucket && (!f->tried_ns || wire_now_ns() - f->tried_ns > RETRY_NS)) {
		f->tried_ns = wire_now_ns();
		f->bucket = find_global(k, l);
	}
	from = f->bucket < bucket ? f->bucket : bucket;
	to = f->bucket < bucket ? bucket : f->bucket;
	return f->bucket && to - from < table_bytes(k, l) && !((to - from) % (uint64_t)l->bytes) &&
	       looks_like_table(k, l, from, to);
}

/* ---- naming ---- */

/* "futex_hash_bucket.lock", of a process or of the global table. */
bool futex_name(struct names_kernel *k, uint64_t addr, struct name *out)
{
	uint64_t bucket = addr & ~(uint64_t)(ALIGN - 1), mm;
	struct layout l;
	int64_t left;

	if (!kernel_peek_ready(k) || !(addr >> 63) || read_layout(k, &l))
		return false;
	for (left = l.bytes; left > 0; left -= ALIGN, bucket -= ALIGN) {
		mm = private_mm(k, &l, bucket);
		if (!mm && !is_global(k, &l, bucket))
			continue;
		if (!kernel_name_in(k, addr, bucket, BUCKET, NULL, out))
			return false;
		if (mm)
			kernel_say_owner(k, mm, out);
		else
			name_print(out->place, sizeof(out->place), false, "global table");
		return true;
	}
	return false;
}
