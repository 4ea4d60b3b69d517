/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that reads foreign files, at moments that only who asks it and opens for it can
 * place: the test is main and opener of a worker.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "names/child.h"
#include "names/opener.h"
#include "unit.h"

#define ANSWER_NS 5000000000ULL
#define SEEN_US 20000 /* a worker at work looks every 2 ms whether it is asked */

struct looked_for {
	long a, b;
} looked_for;

struct ends {
	pid_t worker;
	int ask, opener; /* our ends of its sockets */
	int opener_given;
};

static void socket_pair(int *ours, int *others)
{
	int sv[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
	*ours = sv[0];
	*others = sv[1];
}

/* One without an opener: that comes when the test gives it. */
static int begin(void **state)
{
	struct ends *e = calloc(1, sizeof(*e));
	int asked, mark = memfd_create("mark", MFD_CLOEXEC);

	assert_non_null(e);
	socket_pair(&e->ask, &asked);
	socket_pair(&e->opener, &e->opener_given);
	assert_int_equal(ftruncate(mark, sizeof(struct mark)), 0);
	e->worker = fork();
	assert_true(e->worker >= 0);
	if (!e->worker) {
		close(e->ask);
		close(e->opener);
		close(e->opener_given);
		_exit(worker_main(asked, -1, mark, false));
	}
	close(asked);
	close(mark);
	*state = e;
	return 0;
}

static int end(void **state)
{
	struct ends *e = *state;
	int status;

	close(e->ask);
	close(e->opener);
	close(e->opener_given);
	assert_int_equal(waitpid(e->worker, &status, 0), e->worker);
	assert_int_equal(status, 0);
	free(e);
	return 0;
}

static void ask(const struct ends *e, uint32_t seq)
{
	const struct ask a = {.type = ASK_NAME,
			      .seq = seq,
			      .pid = (uint32_t)getpid(),
			      .addr = (uint64_t)&looked_for.b};

	assert_int_equal(wire_send(e->ask, &a, sizeof(a), NULL, true), 0);
}

static void give_opener(struct ends *e)
{
	const struct ask a = {.type = ASK_OPENER};
	const struct wire_fds fds = {{e->opener_given, -1}};

	assert_int_equal(wire_send(e->ask, &a, sizeof(a), &fds, true), 0);
}

/* What the worker wants to have opened next; it goes on when that is opened. */
static enum open_type opened(const struct ends *e, void (*meanwhile)(const struct ends *e))
{
	struct wire_fds with, fds = {{-1, -1}};
	struct open_tell tell = {0};
	struct open_ask want;

	assert_true(wire_wait(e->opener, clock_mono_ns() + ANSWER_NS));
	assert_int_equal(wire_receive(e->opener, &want, sizeof(want), &with), 0);
	if (meanwhile)
		meanwhile(e);
	opener_serve(NULL, &want, &with, &tell, &fds);
	assert_int_equal(wire_send(e->opener, &tell, sizeof(tell), &fds, true), 0);
	wire_close_fds(&with);
	wire_close_fds(&fds);
	return want.type;
}

/* The answer to that question, after what else the worker tells; opens what it wants until then. */
static struct tell answer(const struct ends *e, uint32_t seq)
{
	uint64_t until = clock_mono_ns() + ANSWER_NS;
	struct tell t;

	while (clock_mono_ns() < until) {
		if (wire_wait(e->opener, clock_mono_ns() + 1000000))
			(void)opened(e, NULL);
		if (wire_receive(e->ask, &t, sizeof(t), NULL))
			continue;
		if (t.type == TELL_ANSWER && t.seq == seq)
			return t;
	}
	fail_msg("no answer to question %u", seq);
	return t;
}

static void ask_again(const struct ends *e)
{
	ask(e, 2);
	usleep(SEEN_US);
}

/*
 * A question that comes while the worker reads a process which was left over cuts that short, and
 * is answered from a reading of its own. It used to be answered from the half one, which has no
 * file, and so were all others for a second.
 */
static void cut_short(void **state)
{
	struct ends *e = *state;
	struct tell t;

	ask(e, 1);
	t = answer(e, 1); /* there is no opener: nothing is known, and it is left over */
	assert_int_equal(t.found, NAME_NONE);
	assert_true(t.refused);
	give_opener(e);
	assert_int_equal(opened(e, ask_again), OPEN_PROCESS);
	t = answer(e, 2);
	assert_non_null(strstr(t.text, "looked_for"));
	assert_false(t.refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cut_short, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
