/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Child processes and their JSON, for the tests that run inside a guest. */
#ifndef WS_TEST_PROC_H
#define WS_TEST_PROC_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct proc {
	pid_t pid;
	int in;	 /* its stdin, -1 */
	int out; /* its stdout, -1 */
};

/* Runs in the child before exec; non-zero ends it with that status. */
typedef int (*proc_setup_fn)(void *ctx);

/* stdin and stdout are pipes to us, stderr goes to `err_path` (or stays). 0, or negative errno. */
int proc_start(struct proc *p, const char *const argv[], const char *err_path, proc_setup_fn setup,
	       void *ctx);
/* One line of its stdout as JSON, within 20 s; NULL if there is none. */
struct json_object *proc_read_json(struct proc *p);
/* A byte to its stdin. */
void proc_poke(struct proc *p);
/* Exit status (128 + signal when killed), -1 after timeout_ms: then it was killed. */
int proc_wait(struct proc *p, int timeout_ms);

/* A string member, "" if there is none. */
const char *json_text(struct json_object *o, const char *key);
/* The reports of one run: an array of the lines of a JSON Lines file; NULL if a line is not JSON.
 */
struct json_object *report_load(const char *path);
/* The only line of this type, or NULL. */
struct json_object *report_line(struct json_object *report, const char *type);
/* Waits until a line of the file is of this type; false when the process ends without one. */
bool report_await(const struct proc *p, const char *path, const char *type, int timeout_ms);
/*
 * Sum of `field` ("count", "sum") over the metric's series whose label `key` is `value` (NULL:
 * whatever it is); the whole when key is NULL; -1 if there is none.
 */
int64_t report_sum(struct json_object *line, const char *metric, const char *key, const char *value,
		   const char *field);

char *file_text(const char *path); /* "" if it cannot be read; the caller frees */
void sleep_ms(int ms);
int64_t now_ms(void);

#endif
