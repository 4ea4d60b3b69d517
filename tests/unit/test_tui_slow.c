/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terminal's page of slow waits. */
#include <stdlib.h>
#include <string.h>

#include "sink/tui.h"
#include "tui_seen.h"

static const struct culprit culprits[] = {
	{.kind = "task", .pid = 9, .comm = "cc\0331", .count = 1, .wait_ns = 1500000},
	{.kind = "irq", .count = 1, .wait_ns = 500000},
};

static void slow(struct seen *s, uint32_t tid, uint64_t wait_ns)
{
	const struct slow_op op = {
		.op = "fsync", .dev = "8:1", .path = "/data/\033x", .bytes = 4096};
	/* What is shown is a copy. */
	char comm[16] = "app", lock[32] = "app`orders.lock", code[32] = "app`settle+0x5c";
	struct holder holders[] = {{.pid = 30,
				    .tid = 31,
				    .comm = comm,
				    .count = 1,
				    .wait_ns = 1200000,
				    .runnable_ns = 1200000,
				    .took_ns = 600000,
				    .took_at = code,
				    .released_at = code},
				   {.count = 1, .wait_ns = 400000}};
	struct slow_link behind[] = {
		{.kind = "task", .pid = 76, .tid = 77, .comm = comm, .ns = 700000},
		{.kind = "futex",
		 .tid = 9,
		 .comm = comm,
		 .addr = 0xabc,
		 .name = lock,
		 .ns = 500000}};
	struct slow_held held = {.source = "futex",
				 .addr = 0x7000,
				 .name = lock,
				 .holders = holders,
				 .nholders = ROWS(holders),
				 .behind = behind,
				 .nbehind = ROWS(behind)};
	const struct slow w = {.time.tv_sec = 1767225600 + tid,
			       .metric = "sched_wakeup_latency",
			       .kind = "wakeup",
			       .cpu = 3,
			       .migrated = true,
			       .last_cpu_known = true,
			       .last_cpu = 2,
			       .pid = tid,
			       .tid = tid,
			       .comm = comm,
			       .wait_ns = wait_ns,
			       .waker = "irq",
			       .culprits = culprits,
			       .nculprits = tid == 1 ? ROWS(culprits) : 0,
			       .op = tid == 2 ? &op : NULL,
			       .held = tid == 4 ? &held : NULL};

	assert_int_equal(tui_slow(&s->t, &w), 0);
	memset(comm, 'x', sizeof(comm));
	memset(lock, 'x', sizeof(lock));
	memset(code, 'x', sizeof(code));
	memset(holders, 0xff, sizeof(holders));
	memset(behind, 0xff, sizeof(behind));
	memset(&held, 0xff, sizeof(held));
}

/* Those until the report shown, and no others: time stops for them too. */
TEST(test_slow)
{
	struct seen *s = open_seen(BY_NONE);

	add(s, usual(1));
	assert_hides(s, "slow");
	slow(s, 1, 2000000);
	slow(s, 2, 3000000);
	add(s, usual(2));
	press(s, "4");
	assert_shows(s, "4 slow ");
	assert_shows(s, "2 slow waits");
	assert_true(line_of(s, "app 2") < line_of(s, "app 1")); /* the newest first */
	assert_shows(s, "3,000  fsync 4,096 bytes of /data/");
	assert_shows(s, "2,000  75.0 % for cc\\x1b1 9, wakeup");
	slow(s, 3, 1000000);
	assert_hides(s, "app 3"); /* its report has not come */
	add(s, usual(3));
	assert_shows(s, "3 slow waits");
	press_key(s, TUI_KEY_RIGHT);
	press_key(s, TUI_KEY_RIGHT); /* by the wait */
	assert_true(line_of(s, "app 2") < line_of(s, "app 1"));
	assert_true(line_of(s, "app 1") < line_of(s, "app 3"));
	press(s, "[");
	assert_hides(s, "app 3");
	press(s, ">/FSYNC");
	assert_hides(s, "app 1");
	press_key(s, TUI_KEY_ESCAPE);
	press(s, "/app 1");
	press_key(s, TUI_KEY_ENTER);
	press_key(s, TUI_KEY_END);
	press_key(s, TUI_KEY_ENTER);
	assert_shows(s, "2,000 usec");
	assert_shows(s, "wakeup, CPU 2 to 3, by irq");
	assert_shows(s, " 75.0 %     1,500  cc\\x1b1 9  task");
	assert_shows(s, " 25.0 %       500  (hard interrupts)  irq");
	assert_shows(s, "process        1, thread 1");
	press_key(s, TUI_KEY_ESCAPE);
	press_key(s, TUI_KEY_ESCAPE);
	for (uint32_t i = 0; i < 12000; i++)
		slow(s, 10, 1000000);
	add(s, usual(4));
	assert_shows(s, "the last 10000 of 12003 slow waits");
	close_seen(s);
}

/* Of a lock or futex: who held it, and what that waited for itself. */
TEST(test_slow_lock)
{
	struct seen *s = open_seen(BY_NONE);

	s->columns = 120;
	slow(s, 4, 1600000);
	add(s, usual(1));
	press(s, "4");
	assert_shows(s, "1,600  75.0 % held by app 31, wakeup app`orders.lock");
	press_key(s, TUI_KEY_DOWN);
	press_key(s, TUI_KEY_ENTER);
	assert_shows(s, "wakeup app`orders.lock");
	assert_shows(s, "75 %  app/31  runnable 100 %");
	assert_shows(s, "took (50 % seen) at app`settle+0x5c");
	assert_shows(s, "released at app`settle+0x5c");
	assert_shows(s, "25 %  holder not known");
	assert_shows(s, "What the longest waited for itself");
	assert_shows(s, "700  app 77");
	assert_shows(s, "500  futex app`orders.lock");
	assert_shows(s, "held by app 9");
	close_seen(s);
}

static int set_up(void **state)
{
	return bucket_table_init(&table, 5);
}

int main(void)
{
	return unit_main(set_up, NULL);
}
