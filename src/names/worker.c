// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The worker's process (wire.h has the picture): answers what main asks, one after the other. What
 * took longer than somebody waits for it is done again when nothing is asked, and then remembered:
 * main has it with its next report.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/clock.h"
#include "names/sandbox.h"
#include "names/user.h"
#include "names/child.h"

#define LATER 64		   /* look-ups to be done again; then the oldest go */
#define LATER_WAIT_NS 200000000ULL /* before one whose file is on its way is tried again */

struct later {
	struct name_process process;
	enum name_what what;
	uint64_t addr, not_before_ns;
};

struct worker {
	int main_sock;
	bool gone; /* main is */
	struct opener opener;
	struct refused refused;
	size_t nrefused_told;
	uint32_t last; /* name that was answered, or put off */
	struct work work;
	struct user *user;
	struct later later[LATER];
	size_t nlater;
};

static void send_tell(struct worker *w, const struct tell *t)
{
	if (wire_send(w->main_sock, t, sizeof(*t), NULL, true))
		w->gone = true;
}

static void send_name(struct worker *w, enum tell_type type, uint32_t seq, const struct name *name,
		      bool refused)
{
	struct tell t = {.type = type, .seq = seq, .found = name->found, .refused = refused};

	t.inlined_in = name->inlined_in;
	memcpy(t.text, name->text, sizeof(t.text));
	memcpy(t.place, name->place, sizeof(t.place));
	send_tell(w, &t);
}

/* What main is to know beside answers. */
static void tell_news(struct worker *w)
{
	struct tell t = {.type = TELL_OPENER};

	if (w->opener.lost)
		send_tell(w, &t);
	w->opener.lost = false;
	t.type = TELL_REFUSED;
	for (; w->nrefused_told < w->refused.n; w->nrefused_told++) {
		t.file = w->refused.v[w->nrefused_told % REFUSED_MAX].file;
		t.pid = w->refused.v[w->nrefused_told % REFUSED_MAX].pid;
		send_tell(w, &t);
	}
}

/* ---- look-ups ---- */

struct answering {
	struct worker *w;
	uint32_t seq; /* 0: nobody waits */
};

static void tell_region(void *ctx, const struct name *name)
{
	struct answering *a = ctx;

	if (a->seq)
		send_name(a->w, TELL_REGION, a->seq, name, false);
}

static enum name_what what_of(const struct ask *ask)
{
	return ask->what <= NAME_CALL ? (enum name_what)ask->what : NAME_DATA;
}

static struct name_process process_of(const struct ask *ask)
{
	return (struct name_process){ask->pid, ask->space};
}

static void do_later(struct worker *w, const struct ask *ask)
{
	for (size_t i = 0; i < w->nlater; i++)
		if (w->later[i].process.pid == ask->pid &&
		    w->later[i].process.space == ask->space && w->later[i].addr == ask->addr &&
		    w->later[i].what == what_of(ask))
			return;
	if (w->nlater == LATER)
		memmove(w->later, w->later + 1, --w->nlater * sizeof(w->later[0]));
	w->later[w->nlater++] = (struct later){process_of(ask), what_of(ask), ask->addr, 0};
}

/* Until main has given another, what would have to be opened is not there "in time": nothing of
 * what is found without is remembered as all there is. */
static void without_opener(struct worker *w)
{
	if (w->opener.sock < 0)
		w->work.over = w->work.woken = true;
}

static void answer_name(struct worker *w, const struct ask *ask)
{
	struct answering a = {w, ask->type == ASK_NOTE ? 0 : ask->seq};
	struct user_ask look = {ask->addr, what_of(ask), ask->frame, true, tell_region, &a};
	struct name name;
	enum user_done done;

	without_opener(w);
	done = user_name(w->user, process_of(ask), &look, &name);
	if (done == USER_LATER)
		do_later(w, ask);
	if (a.seq)
		send_name(w, TELL_ANSWER, a.seq, &name, done != USER_DONE);
}

/* Does somebody wait for a question that lies behind the one in hand? */
static bool is_awaited(const struct worker *w)
{
	return !work_is_awaited(&w->work, w->last) && wire_wait(w->main_sock, 0);
}

static void answer(struct worker *w, const struct ask *ask, struct wire_fds *fds)
{
	struct tell t = {.type = TELL_ANSWER, .seq = ask->seq};
	char symbol[sizeof(ask->symbol) + 1] = {0};

	work_begin(&w->work, USER_SOON_NS, -1);
	switch (ask->type) {
	case ASK_PROCESS:
		t.status = user_process(w->user, ask->pid);
		send_tell(w, &t);
		break;
	case ASK_NOTE:
		if (ask->addr && is_awaited(w)) { /* first what somebody waits for */
			do_later(w, ask);
			break;
		}
		(void)user_process(w->user, ask->pid); /* it has ended: names fall back */
		if (ask->addr)
			answer_name(w, ask);
		break;
	case ASK_NAME:
		work_begin(&w->work, USER_AWAITED_NS, -1);
		w->work.seq = ask->seq;
		if (!work_is_awaited(&w->work, ask->seq))
			do_later(w, ask);
		else
			answer_name(w, ask);
		w->last = ask->seq;
		break;
	case ASK_SYMBOL:
		memcpy(symbol, ask->symbol, sizeof(ask->symbol));
		work_begin(&w->work, USER_TRY_NS, -1); /* there is nothing yet that could be late */
		t.status = user_symbol(w->user, ask->pid, symbol, &t.addr, &t.size);
		send_tell(w, &t);
		break;
	case ASK_MAPPED:
		t.status = user_mapped(w->user, ask->pid, ask->addr);
		send_tell(w, &t);
		break;
	case ASK_TRIM:
		user_trim(w->user);
		break;
	case ASK_REFUSE:
		refused_add(&w->refused, &ask->file, ask->pid);
		w->nrefused_told = w->refused.n;
		break;
	case ASK_OPENER:
		if (w->opener.sock >= 0)
			close(w->opener.sock);
		w->opener.sock = fds->v[0];
		fds->v[0] = -1;
		break;
	}
}

/* ---- when nothing is asked ---- */

/* One look-up of those that took too long, until something is asked. */
static void work_later(struct worker *w)
{
	struct later l = w->later[0];
	struct answering nobody = {w, 0};
	struct user_ask look = {l.addr, l.what, 0, false, tell_region, &nobody};
	struct name name;

	memmove(w->later, w->later + 1, --w->nlater * sizeof(w->later[0]));
	work_begin(&w->work, USER_TRY_NS, w->main_sock);
	without_opener(w);
	if (user_name(w->user, l.process, &look, &name) != USER_LATER)
		return;
	if (!w->work.woken ||
	    w->opener.sock < 0) /* a file on its way, or one that an opener did not give in time */
		l.not_before_ns = clock_mono_ns() + LATER_WAIT_NS;
	if (w->nlater < LATER)
		w->later[w->nlater++] = l;
}

/* Until something is asked. */
static void wait_for_main(struct worker *w)
{
	while (w->nlater && !w->gone && !wire_wait(w->main_sock, 0)) {
		if (w->later[0].not_before_ns > clock_mono_ns() &&
		    wire_wait(w->main_sock, w->later[0].not_before_ns))
			break;
		sandbox_request_begin();
		work_later(w);
		tell_news(w);
		sandbox_request_end();
		work_on_process(&w->work, 0);
	}
	(void)wire_wait(w->main_sock, UINT64_MAX);
}

static void serve(struct worker *w)
{
	struct wire_fds fds;
	struct ask ask;
	int ret;

	while (!w->gone) {
		wait_for_main(w);
		ret = wire_receive(w->main_sock, &ask, sizeof(ask), &fds);
		if (ret == -EAGAIN)
			continue;
		if (ret)
			return;
		sandbox_request_begin();
		answer(w, &ask, &fds);
		tell_news(w);
		sandbox_request_end();
		wire_close_fds(&fds);
		work_on_process(&w->work, 0);
	}
}

int worker_main(int main_sock, int opener_sock, int mark_fd, bool debuginfod)
{
	struct worker *w = calloc(1, sizeof(*w));
	void *mark =
		mmap(NULL, sizeof(struct mark), PROT_READ | PROT_WRITE, MAP_SHARED, mark_fd, 0);
	int ret;

	(void)prctl(PR_SET_NAME, "waitscope-names"); /* cannot fail */
	if (!w || mark == MAP_FAILED || close(mark_fd))
		return 1;
	w->main_sock = main_sock;
	w->opener.sock = opener_sock;
	w->work.mark = mark;
	w->work.wake_fd = -1;
	w->work.refused = &w->refused;
	ret = user_open(&w->user, debuginfod, &w->opener, &w->work);
	if (!ret)
		ret = sandbox_worker();
	if (!ret)
		serve(w);
	user_close(w->user);
	(void)munmap(mark, sizeof(struct mark));
	free(w);
	return ret ? 1 : 0;
}
