// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of addresses in processes, as main sees it: a question to the worker, and no more patience
 * than a report has (wire.h has the picture, names.h the times).
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/clock.h"
#include "names/child.h"
#include "names/debuginfod.h"
#include "names/internal.h"
#include "names/work.h"

#define STARTING_NS 300000000ULL /* for the first answer of a new worker */
#define STUCK_NS 3000000000ULL	 /* no sign of life, and it does not run: it hangs in a file */
#define STUCK_EVER_NS 10000000000ULL
#define SYMBOL_NS 5000000000ULL /* of names_user_symbol: nothing is being measured yet */
#define FAILED_STARTS 5	 /* workers in a row without one answer: there is no more to hope for */
#define AHEAD 64	 /* questions that may be unanswered; beyond, notes are not sent */
#define BETWEEN_SHARE 10 /* of the time between reports a tenth may be waited ... */
#define BETWEEN_NS 100000000ULL /* ... this much of it at a time */
#define LEAST_NS 1000000ULL	/* less is no time for a name */
#define PAUSE_NS 50000000ULL	/* between one worker's end and the next one's start */

struct names_user {
	bool elsewhere; /* the kernel's numbers of processes are not those of our /proc */
	struct children children;
	struct refused refused;	     /* what no worker is asked any more */
	struct refused struck;	     /* what one was at when somebody killed it: once is no proof */
	uint64_t name_ns, report_ns; /* how long is waited for a name, for a report's together */
	uint64_t left_ns;	     /* of that */
	bool reporting;
	uint64_t between_ns; /* when left_ns was last added to, between reports */
	uint64_t alive_ns;   /* the last sign of life while something is unanswered */
	uint64_t ended_ns;
	uint32_t seq, answered; /* of the last question, and of the last answered one */
	uint32_t failed;	/* workers in a row that answered nothing */
	bool greeted;		/* this one has */
	uint64_t nrefused;	/* names */
};

/* Only in the first pid namespace (PROC_PID_INIT_INO, include/linux/proc_ns.h) /proc has the
 * numbers that BPF programs tell. */
static bool is_elsewhere(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino != 0xEFFFFFFCU;
}

int names_user_open(struct names_user **out, const struct names_args *args, struct err *e)
{
	struct names_user *u;
	int ret = args->debuginfod ? debuginfod_check(e) : 0;

	if (ret)
		return ret;
	u = calloc(1, sizeof(*u));
	if (!u)
		return err_sys(e, -ENOMEM, "names");
	children_init(&u->children, args->debuginfod);
	u->elsewhere = is_elsewhere();
	u->name_ns = args->patience_ns ? args->patience_ns : NAMES_NAME_NS;
	u->report_ns = args->patience_ns ? UINT64_MAX / 2 : NAMES_REPORT_NS;
	u->left_ns = args->patience_ns ? u->report_ns : BETWEEN_NS;
	u->reporting = args->patience_ns > 0;
	*out = u;
	return 0;
}

void names_user_close(struct names_user *u)
{
	if (u)
		children_close(&u->children);
	free(u);
}

uint64_t names_refused(const struct names *n)
{
	return n ? n->user->nrefused : 0;
}

/* ---- the worker's end, and another one ---- */

/* What it was at is not asked again, if that is what ended it. */
static void blame(struct names_user *u, bool sure)
{
	struct mark m = *u->children.mark;

	if (!m.pid && !m.file.ino)
		return;
	sure |= refused_has(&u->struck, &m.file, m.pid);
	refused_add(sure ? &u->refused : &u->struck, &m.file, m.pid);
}

static void worker_over(struct names_user *u, bool sure)
{
	int how = children_end(&u->children);

	blame(u, sure || how);
	u->failed = u->greeted ? 0 : u->failed + 1;
	u->answered = u->seq;
	u->ended_ns = clock_mono_ns();
}

/* It has said nothing for long. Whoever has stopped it (T) is to blame, not the file. */
static void look_after(struct names_user *u)
{
	uint64_t quiet = clock_mono_ns() - u->alive_ns;
	char state;

	children_reap(&u->children);
	if (u->children.sock < 0 || u->seq == u->answered || quiet < STUCK_NS)
		return;
	state = children_state(&u->children);
	if (state == 'R' && quiet < STUCK_EVER_NS)
		return; /* others have the processors; its own time is limited */
	if (state == 'T' || state == 't') {
		u->children.mark->pid = 0;
		u->children.mark->file.ino = 0;
	}
	worker_over(u, true);
}

static int send_ask(struct names_user *u, struct ask *ask, const struct wire_fds *fds)
{
	int ret = wire_send(u->children.sock, ask, sizeof(*ask), fds, false);

	if (ret == -EPIPE)
		worker_over(u, false);
	return ret;
}

static int start(struct names_user *u)
{
	int ret;

	if (u->children.sock >= 0)
		return 0;
	if (u->failed >= FAILED_STARTS)
		return -ENOTSUP;
	if (u->ended_ns && clock_mono_ns() - u->ended_ns < PAUSE_NS)
		return -EAGAIN;
	ret = children_start(&u->children);
	if (ret)
		return ret;
	u->greeted = false;
	u->alive_ns = clock_mono_ns();
	for (size_t i = 0; !ret && i < u->refused.n && i < REFUSED_MAX; i++) {
		struct ask ask = {.type = ASK_REFUSE,
				  .pid = u->refused.v[i].pid,
				  .file = u->refused.v[i].file};

		ret = wire_send(u->children.sock, &ask, sizeof(ask), NULL, false);
	}
	return ret == -EPIPE ? ret : 0;
}

/* ---- questions and answers ---- */

static void another_opener(struct names_user *u)
{
	struct ask ask = {.type = ASK_OPENER};
	struct wire_fds fds = {{-1, -1}};

	if (children_another_opener(&u->children, &fds.v[0]))
		return; /* names go on without what would have to be opened */
	(void)send_ask(u, &ask, &fds);
	close(fds.v[0]);
}

/*
 * The next message, until then: 0, -ETIME, -EPIPE (it has ended). What it says about itself is seen
 * to here.
 */
static int next_tell(struct names_user *u, uint64_t until_ns, struct tell *t)
{
	int ret;

	if (u->children.sock < 0)
		return -EPIPE;
	if (!wire_wait(u->children.sock, until_ns))
		return -ETIME;
	ret = wire_receive(u->children.sock, t, sizeof(*t), NULL);
	if (ret == -EAGAIN)
		return 1;
	if (ret) {
		worker_over(u, false);
		return -EPIPE;
	}
	u->alive_ns = clock_mono_ns();
	u->greeted = true;
	t->text[sizeof(t->text) - 1] = t->place[sizeof(t->place) - 1] = '\0';
	switch (t->type) {
	case TELL_REFUSED:
		refused_add(&u->refused, &t->file, t->pid);
		return 1;
	case TELL_OPENER:
		another_opener(u);
		return 1;
	case TELL_ANSWER:
		u->answered = t->seq;
		break;
	}
	return 0;
}

/* Late answers, and news: whatever lies there. */
static void listen(struct names_user *u)
{
	struct tell t;

	while (next_tell(u, 0, &t) >= 0)
		;
	look_after(u);
}

static int ask_worker(struct names_user *u, struct ask *ask)
{
	int ret;

	listen(u);
	ret = start(u);
	if (ret)
		return ret;
	if (u->seq == u->answered)
		u->alive_ns = clock_mono_ns();
	ask->seq = ++u->seq ? u->seq : ++u->seq;
	ret = send_ask(u, ask, NULL);
	if (ret == -EAGAIN)
		u->seq--;
	return ret;
}

/* ---- time ---- */

/*
 * How long is waited for an answer: `left_ns` of the children's own time, and never past until_ns.
 */
struct patience {
	uint64_t until_ns, left_ns;
	uint64_t seen_ns, ran_ns; /* when it was looked at last, and what they had run by then */
};

/* Between reports a little time comes back as time goes by. */
static struct patience patience(struct names_user *u, uint64_t now)
{
	uint64_t one = u->name_ns;

	if (!u->reporting) {
		u->left_ns += (now - u->between_ns) / BETWEEN_SHARE;
		u->left_ns = u->left_ns > BETWEEN_NS ? BETWEEN_NS : u->left_ns;
		u->between_ns = now;
	}
	if (!u->greeted && one < STARTING_NS)
		one = STARTING_NS;
	return (struct patience){now + u->left_ns, one < u->left_ns ? one : u->left_ns, now, 0};
}

/*
 * Is there any left? Time goes by for a name while somebody works for it, or waits for a file; but
 * not while other work has the processors: a child found on a run queue has used what it ran.
 */
static bool has_patience(struct names_user *u, struct patience *p)
{
	uint64_t now = clock_mono_ns(), ran = children_ran_ns(&u->children),
		 used = now - p->seen_ns;

	if (children_runnable(&u->children) && ran - p->ran_ns < used)
		used = ran - p->ran_ns;
	p->left_ns -= used < p->left_ns ? used : p->left_ns;
	p->seen_ns = now;
	p->ran_ns = ran;
	return p->left_ns >= LEAST_NS && now < p->until_ns;
}

/* Waits for the answer to the last question; what of the region comes on the way is in *t too. */
static int await(struct names_user *u, struct patience p, struct tell *t)
{
	struct tell got;
	int ret;

	t->type = 0;
	children_hurry(&u->children, CHILDREN_AWAITED);
	p.ran_ns = children_ran_ns(&u->children);
	u->children.mark->wanted = u->seq;
	do {
		uint64_t soon = p.seen_ns + p.left_ns;

		ret = next_tell(u, soon < p.until_ns ? soon : p.until_ns, &got);
		if (ret || got.seq != u->seq)
			continue;
		*t = got;
		if (got.type == TELL_ANSWER)
			break;
	} while (ret >= 0 || (ret == -ETIME && has_patience(u, &p)));
	if (!u->reporting)
		children_hurry(&u->children, CHILDREN_IDLE);
	if (ret)
		u->children.mark->wanted = u->seq + 1;
	return ret;
}

static void waited(struct names_user *u, uint64_t since)
{
	uint64_t took = clock_mono_ns() - since;

	u->left_ns -= took < u->left_ns ? took : u->left_ns;
}

void names_report_begin(struct names *n)
{
	if (!n)
		return;
	n->user->left_ns = n->user->report_ns;
	n->user->reporting = true;
}

void names_user_trim(struct names_user *u)
{
	struct ask ask = {.type = ASK_TRIM};

	u->reporting = u->report_ns > NAMES_REPORT_NS;
	u->between_ns = clock_mono_ns();
	if (!u->reporting)
		u->left_ns = BETWEEN_NS;
	listen(u);
	children_hurry(&u->children, CHILDREN_IDLE);
	if (u->children.sock >= 0)
		(void)send_ask(u, &ask, NULL); /* the next report's end does it too */
}

/* ---- names.h ---- */

static void take_name(const struct tell *t, struct name *out)
{
	if (t->found > NAME_MEMBER || !t->text[0])
		return;
	out->found = (enum name_found)t->found;
	memcpy(out->text, t->text, sizeof(out->text));
	memcpy(out->place, t->place, sizeof(out->place));
	out->inlined_in = t->inlined_in;
}

static void ask_name(struct names_user *u, struct ask ask, struct name *out)
{
	uint64_t since = clock_mono_ns();
	struct patience p = patience(u, since);
	struct tell t = {0};
	int ret;

	name_bare(out, ask.addr);
	if (u->elsewhere) {
		name_print(out->place, sizeof(out->place), false,
			   "no name: waitscope is in a pid namespace");
		return;
	}
	/* Without time left for them, names are not even asked for: they would be in others' way.
	 */
	ret = p.left_ns > LEAST_NS ? ask_worker(u, &ask) : -ETIME;
	if (!ret)
		ret = await(u, p, &t);
	waited(u, since);
	if (t.type)
		take_name(&t, out);
	out->late = ret || t.refused;
	u->nrefused += out->late;
}

void names_user_data(struct names *n, struct name_process p, uint64_t addr, struct name *out)
{
	ask_name(n->user,
		 (struct ask){.type = ASK_NAME, .pid = p.pid, .space = p.space, .addr = addr}, out);
}

void names_user_code(struct names *n, struct name_process p, uint64_t ip, enum name_what what,
		     uint32_t frame, struct name *out)
{
	struct ask ask = {.type = ASK_NAME,
			  .pid = p.pid,
			  .space = p.space,
			  .addr = ip,
			  .what = what,
			  .frame = frame};

	ask_name(n->user, ask, out);
}

void names_note(struct names *n, struct name_process p, uint64_t addr, enum name_what what)
{
	struct ask ask = {
		.type = ASK_NOTE, .pid = p.pid, .space = p.space, .addr = addr, .what = what};
	struct names_user *u = n->user;

	/* Notes have no answer: of those alone the worker would look dead. */
	if (u->elsewhere || u->seq - u->answered >= AHEAD || start(u))
		return;
	if (!u->reporting)
		children_hurry(&u->children, CHILDREN_NOTED);
	(void)send_ask(u, &ask, NULL); /* full: names fall back */
}

/* The rest of the interface waits for its answer. */
static int ask_and_wait(struct names_user *u, struct ask *ask, uint64_t ns, struct tell *t)
{
	uint64_t since = clock_mono_ns();
	int ret = ask_worker(u, ask);

	if (!ret)
		ret = await(u, (struct patience){since + ns, ns, since, 0}, t);
	if (ret)
		return ret == -ETIME ? -ETIMEDOUT : ret;
	return t->status;
}

int names_process(struct names *n, uint32_t pid)
{
	struct ask ask = {.type = ASK_PROCESS, .pid = pid};
	struct tell t;

	return ask_and_wait(n->user, &ask, SYMBOL_NS, &t);
}

int names_process_comm(struct names *n, uint32_t pid, char *out, size_t len)
{
	char path[64], *end;
	FILE *f;
	bool read;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid); /* fits */
	f = n->user->elsewhere ? NULL : fopen(path, "re");
	if (!f)
		return -ENOENT;
	read = fgets(out, (int)len, f) != NULL;
	fclose(f);
	end = read ? strrchr(out, '\n') : NULL; /* a comm may have others */
	if (end)
		*end = '\0';
	return read ? 0 : -ENOENT;
}

int names_user_symbol(struct names *n, uint32_t pid, const char *symbol, uint64_t *addr,
		      uint64_t *size)
{
	struct ask ask = {.type = ASK_SYMBOL, .pid = pid};
	struct tell t;
	int ret;

	if (strlen(symbol) >= sizeof(ask.symbol))
		return -ENOENT;
	(void)snprintf(ask.symbol, sizeof(ask.symbol), "%s", symbol); /* fits */
	ret = ask_and_wait(n->user, &ask, SYMBOL_NS, &t);
	if (!ret) {
		*addr = t.addr;
		*size = t.size;
	}
	return ret;
}

bool names_user_mapped(struct names *n, uint32_t pid, uint64_t addr)
{
	struct ask ask = {.type = ASK_MAPPED, .pid = pid, .addr = addr};
	struct tell t;

	return ask_and_wait(n->user, &ask, SYMBOL_NS, &t) == 1;
}
