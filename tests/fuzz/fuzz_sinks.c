// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A report whose names are all foreign, as CSV and as a table of 80 columns. The input is the
 * names, a NUL between them. Valid UTF-8 without what a terminal obeys or a reader does not see;
 * each row of the CSV has the header's cells; no line of the table is wider than it may be; labels
 * of Prometheus' text end where they seem to.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.h"
#include "sink/out.h"
#include "sink/sink.h"

#define COLUMNS 80
#define NAMES 12

struct names {
	const char *v[NAMES];
};

/* Those that the input lacks are empty. */
static struct names take_names(const char *text, size_t size)
{
	const char *end = text + size;
	struct names n;
	size_t i;

	for (i = 0; i < NAMES; i++) {
		n.v[i] = text;
		text += strlen(text);
		text += text < end;
	}
	return n;
}

static const struct metric_desc headline = {"sched_wakeup_latency", "Wakeup latency",
					    METRIC_HEADLINE};
static const struct metric_desc ops = {"ext4_op_latency", "ext4 operations", METRIC_ROWS};
static const struct metric_desc counts = {.name = "ext4_es_lookups",
					  .title = "Look-ups",
					  .role = METRIC_COUNTS,
					  .counter = true,
					  .pivot = "result"};

static struct hist *samples(void)
{
	static struct bucket_table table;
	struct hist *h = calloc(1, sizeof(*h));
	uint64_t v;

	MUST(h);
	if (!table.th[0]) /* the same for all inputs, and slow to make */
		MUST(!bucket_table_init(&table, 5));
	hist_init(h, 5);
	for (v = 1000; v < 100000; v += 1000)
		MUST(!hist_add(h, &table, v));
	return h;
}

static char *written(int fd)
{
	struct stat st;
	char *text;

	MUST(!fstat(fd, &st));
	text = malloc((size_t)st.st_size + 1);
	MUST(text && pread(fd, text, (size_t)st.st_size, 0) == st.st_size);
	text[st.st_size] = '\0';
	MUST(strlen(text) == (size_t)st.st_size);
	return text;
}

static char *render(const struct sink_ops *sink_ops, const struct config *cfg, const struct meta *m,
		    const struct frame *f)
{
	int fd = memfd_create("sink", MFD_CLOEXEC);
	struct frame last = *f;
	struct err e = {0};
	char path[64], *text;
	struct sink_args args = {.cfg = cfg, .path = path, .columns = COLUMNS};
	struct sink *s;

	MUST(fd >= 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	last.type = FRAME_FINAL;
	last.end = "done";
	MUST(!sink_ops->open(&s, &args, &e));
	MUST(!sink_ops->meta(s, m, &e));
	MUST(!sink_ops->interval(s, f, f, &e));
	MUST(!sink_ops->final(s, &last, &e));
	MUST(!sink_ops->close(s, &e));
	text = written(fd);
	close(fd);
	return text;
}

static void check_characters(const char *text)
{
	uint32_t code;

	MUST(fuzz_utf8_valid(text));
	fuzz_must_show(text);
	for (; *text; text++) {
		MUST(((unsigned char)*text >= ' ' && *text != 0x7f) || *text == '\n');
		MUST(*text == '\n' || !text_unseen(text, &code));
	}
}

static void check_width(char *text)
{
	char *line, *save;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		MUST(text_width(line) <= COLUMNS);
}

/* Cells of the row at *at, which moves to the next one. RFC 4180, and no line ends in a cell. */
static size_t take_row(const char **at)
{
	const char *s = *at;
	size_t cells = 1;

	for (; *s && *s != '\n'; s++) {
		MUST(*s != '"' || s == *at || s[-1] == ','); /* a quote begins a cell */
		if (*s == '"') {
			for (s++; *s != '"' || s[1] == '"'; s += *s == '"' ? 2 : 1)
				MUST(*s && *s != '\n');
			MUST(s[1] == ',' || s[1] == '\n');
		} else if (*s == ',') {
			cells++;
		}
	}
	MUST(*s == '\n');
	*at = s + 1;
	return cells;
}

static void check_csv(const char *text, size_t rows)
{
	size_t cells = take_row(&text);

	for (; rows; rows--)
		MUST(take_row(&text) == cells);
	MUST(!*text);
}

static char *render_memory(const struct sink_ops *sink_ops, const struct config *cfg,
			   const struct meta *m, const struct frame *f)
{
	struct sink_args args = {.cfg = cfg, .memory = true};
	struct err e = {0};
	struct sink *s;
	const char *all;
	char *text;
	size_t len;

	MUST(!sink_ops->open(&s, &args, &e));
	MUST(!sink_ops->meta(s, m, &e));
	MUST(!sink_ops->interval(s, f, f, &e));
	all = out_whole(s->out, &len);
	text = strndup(all, len);
	MUST(text && strlen(text) == len);
	MUST(!sink_ops->close(s, &e));
	return text;
}

/* NAME{key="value",...} NUMBER, or a comment */
static void check_prom(const char *s)
{
	for (; *s; s++) {
		if (*s == '#') {
			s = strchr(s, '\n');
			MUST(s);
			continue;
		}
		MUST(!strncmp(s, "waitscope_", 10));
		s += strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");
		for (const char *sep = "{"; *s == *sep; sep = ",") {
			s += 1 + strspn(s + 1, "abcdefghijklmnopqrstuvwxyz_");
			MUST(s[0] == '=' && s[1] == '"');
			for (s += 2; *s != '"'; s++) {
				MUST(*s && *s != '\n');
				if (*s == '\\')
					MUST(*++s == '\\' || *s == '"');
			}
			s++;
		}
		MUST(*s == ' ' || (*s == '}' && *++s == ' '));
		s += 1 + strspn(s + 1, "0123456789.e+-");
		MUST(*s == '\n');
	}
}

static void try_names(const struct names *n, const struct hist *h)
{
	const struct series series[] = {
		{&headline, {{0}}, 0, h},
		{&headline, {{"pid", "42"}, {"comm", n->v[0]}}, 2, h},
		{&headline, {{"cgroup", n->v[1]}}, 1, h},
		{&ops, {{"op", n->v[2]}, {"dev", "8:1"}, {"mount", n->v[3]}}, 3, h},
		{&counts, {{"result", "hit"}, {"dev", n->v[4]}}, 2, NULL, NULL, 3},
	};
	const struct site site = {1, n->v[5], 2};
	const struct line_member member = {n->v[6], 0, 8, true};
	const struct line_thread thread = {1, 2, 0, n->v[7], 9, 8, 0, 0xff};
	const struct line_spot spot = {.size = 8,
				       .tid = 2,
				       .ip = 3,
				       .name = n->v[8],
				       .sym = n->v[5],
				       .samples = 9,
				       .writes = 9};
	const struct line_accesses accesses = {.sampler = "clock",
					       .sharing = "false",
					       .writes = 9,
					       .memory_node = -1,
					       .threads = &thread,
					       .nthreads = 1,
					       .uses = &spot,
					       .nuses = 1,
					       .unconfirmed = n->v[11]};
	const uint32_t cpu = 0;
	struct contended rows[] = {
		{.source = "lock",
		 .kind = "mutex",
		 .addr = 1ULL << 63,
		 .name = n->v[9],
		 .place = n->v[10],
		 .group = {"comm", n->v[0]},
		 .count = 99,
		 .wait = h,
		 .cpus = &cpu,
		 .ncpus = 1,
		 .sites = &site,
		 .nsites = 1,
		 .line = 1ULL << 63,
		 .members = &member,
		 .nmembers = 1},
		{.source = "futex",
		 .kind = "futex",
		 .addr = 4096,
		 .pid = 42,
		 .owner = n->v[7],
		 .name = n->v[9],
		 .count = 99,
		 .wait = h,
		 .sites = &site,
		 .nsites = 1},
		{.source = "line",
		 .kind = "line",
		 .addr = 8192,
		 .pid = 42,
		 .owner = n->v[7],
		 .name = n->v[9],
		 .place = n->v[10],
		 .count = 9,
		 .accesses = &accesses,
		 .line = 8192},
	};
	const struct frame f = {
		.seq = 1,
		.dur_ns = 1000000000,
		.series = series,
		.nseries = 5,
		.contended = rows,
		.ncontended = 3,
		.contends = true,
		.lines = true,
		.quality = {.in_flight = 1, .longest_ns = 5, .longest_tid = 3},
	};
	struct quantile q[] = {{500000000, "50"}, {990000000, "99"}};
	struct config cfg = {.by = BY_PID,
			     .rows = 10,
			     .list_rows = 10,
			     .quantiles = q,
			     .nquantiles = 2,
			     .interval_ns = 1000000000,
			     .precision = 5,
			     .max_keys = 16,
			     .export_schema = 3};
	const char *const argv[] = {"waitscope", n->v[0], NULL};
	const struct meta_source source = {.name = "sched", .why = n->v[11]};
	const struct meta m = {.version = "1",
			       .kernel = n->v[11],
			       .cpus = 1,
			       .argv = argv,
			       .sources = &source,
			       .nsources = 1};
	char *text = render(&sink_csv, &cfg, &m, &f);

	check_characters(text);
	check_csv(text, 2 * (5 + 3));
	free(text);
	text = render(&sink_table, &cfg, &m, &f);
	check_characters(text);
	check_width(text);
	free(text);
	text = render_memory(&sink_prom, &cfg, &m, &f);
	check_characters(text);
	check_prom(text);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	struct names n = take_names(text, size);
	struct hist *h = samples();

	try_names(&n, h);
	hist_free(h);
	free(h);
	free(text);
	return 0;
}
