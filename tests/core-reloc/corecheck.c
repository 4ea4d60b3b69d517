/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Would our BPF objects fit these kernels? Asks libbpf itself, without booting any of them: every
 * object is relocated against every BTF fixture, and libbpf's debug log tells what became of each
 * relocation. Prints TAP, one test an object and kernel. Needs root: libbpf tests that BPF works
 * first.
 *
 *	corecheck ABSENT.list FIXTURE.btf... -- OBJECT...
 *
 * A test fails when
 *  - an access resolves nowhere and its program does not ask first whether it exists,
 *  - an access resolves, but to a member of a size that the load cannot be changed to,
 *  - no program for a hook takes as few arguments as that kernel's hook has, or the hook is not
 *    there (ABSENT.list may say so, with the reason; an entry that is not needed fails too),
 *  - a kernel symbol that is not weak is missing,
 *  - nothing was relocated at all.
 * Programs that ask for more arguments than the hook has are for other kernels: not judged.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook.h"

#define MAX_RELOS 4096
#define NAME_LEN 128
#define LOG_LINE_LEN 1024

struct relo {
	char prog[NAME_LEN];
	char kind[32];
	char field[NAME_LEN]; /* "task_struct.__state", without its flavour */
	bool flavour;
	bool missing;
	bool poisoned; /* the instruction that would have used it was made invalid */
	int nr;
};

struct absent {
	char kernel[64]; /* glob */
	char hook[NAME_LEN];
	char reason[NAME_LEN];
};

struct check {
	const char *object;
	char kernel[64];
	struct btf *btf;
	const struct absent *absent;
	size_t nabsent;
	struct relo *relos;
	size_t nrelos;
	bool overflow;
	char first_warning[LOG_LINE_LEN];
	int problems;
};

/* libbpf's print callback takes no context: the check in progress. */
static struct check *current;

static void problem(struct check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void problem(struct check *c, const char *fmt, ...)
{
	va_list ap;

	printf("# %s on %s: ", c->object, c->kernel);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	c->problems++;
}

/* ---- libbpf's log ---- */

static bool is_question(const struct relo *r)
{
	return strstr(r->kind, "exists") || strstr(r->kind, "matches");
}

/*
 * "struct task_struct___old.state (0:0 @ offset 0)" -> "task_struct.state". The sub-spec may hold
 * dots and brackets; what counts is that the same text stands for the same field.
 */
static void set_field(struct relo *r, const char *spec)
{
	const char *space = strchr(spec, ' '), *name = space ? space + 1 : spec;
	size_t whole = strcspn(name, " "), type = strcspn(name, ". "), bare;
	char first[NAME_LEN];

	if (type >= sizeof(first))
		type = sizeof(first) - 1;
	memcpy(first, name, type);
	first[type] = 0;
	bare = flavour_less(first);
	r->flavour = bare != type;
	(void)snprintf(r->field, sizeof(r->field), "%.*s%.*s", (int)bare, first,
		       (int)(whole > type ? whole - type : 0), name + type);
}

/* The latest of this number: numbers begin anew in every program. */
static struct relo *find_relo(struct check *c, const char *prog, int nr)
{
	for (size_t i = c->nrelos; i-- > 0;)
		if (c->relos[i].nr == nr && strcmp(c->relos[i].prog, prog) == 0)
			return &c->relos[i];
	return NULL;
}

/* prog 'NAME': relo #N: <kind> [id] struct X.field (spec)  |  ...: no matching targets found */
static void read_relo_line(struct check *c, const char *line)
{
	struct relo *r;
	char prog[NAME_LEN], rest[LOG_LINE_LEN];
	int nr, id;

	if (sscanf(line, "libbpf: prog '%127[^']': relo #%d: %1023[^\n]", prog, &nr, rest) != 3)
		return;
	if (rest[0] == '<') {
		int at = 0;

		if (c->nrelos == MAX_RELOS) {
			c->overflow = true;
			return;
		}
		r = &c->relos[c->nrelos];
		*r = (struct relo){.nr = nr};
		if (sscanf(rest, "<%31[^>]> [%d] %n", r->kind, &id, &at) < 2 || !at)
			return;
		(void)snprintf(r->prog, sizeof(r->prog), "%s", prog);
		set_field(r, rest + at);
		c->nrelos++;
		return;
	}
	r = find_relo(c, prog, nr);
	if (r && strstr(rest, "no matching targets found"))
		r->missing = true;
	else if (r && strstr(rest, "w/ invalid insn"))
		r->poisoned = true;
}

static int on_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[LOG_LINE_LEN];
	int n = vsnprintf(line, sizeof(line), fmt, ap);

	if (!current)
		return n;
	if (level == LIBBPF_DEBUG)
		read_relo_line(current, line);
	else if (!*current->first_warning)
		(void)snprintf(current->first_warning, sizeof(current->first_warning), "%.*s",
			       (int)strcspn(line, "\n"), line);
	return n;
}

/* ---- hooks ---- */

/* Arguments of a hook on this kernel; -1: it has no such hook. */
static int hook_args(const struct btf *btf, const struct hook *h)
{
	const struct btf_type *t;
	char name[NAME_LEN + 16];
	int id;

	if (h->kind == HOOK_TRACE) {
		(void)snprintf(name, sizeof(name), "btf_trace_%s", h->name);
		id = btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF);
		if (id < 0)
			return -1;
		t = btf__type_by_id(btf, btf__type_by_id(btf, id)->type); /* the pointer */
		t = btf__type_by_id(btf, t->type);
		return btf_vlen(t) - 1; /* the first is the tracepoint's own data */
	}
	id = btf__find_by_name_kind(btf, h->name, BTF_KIND_FUNC);
	if (id < 0)
		return -1;
	t = btf__type_by_id(btf, btf__type_by_id(btf, id)->type);
	/* An iterator's context is a struct, of which the first word alone matches the prototype.
	 */
	return strncmp(h->name, "bpf_iter_", 9) == 0 ? 64 : btf_vlen(t);
}

/* Arguments a program reads: 8-byte loads through its context, which starts in r1. */
static int program_args(const struct bpf_program *prog)
{
	const struct bpf_insn *insn = bpf_program__insns(prog);
	size_t n = bpf_program__insn_cnt(prog);
	unsigned int is_ctx = 1u << BPF_REG_1;
	int args = 0;

	for (size_t i = 0; i < n; i++) {
		__u8 code = insn[i].code, cls = BPF_CLASS(code);
		unsigned int dst = 1u << insn[i].dst_reg, src = 1u << insn[i].src_reg;

		if (code == (BPF_LDX | BPF_MEM | BPF_DW) && (is_ctx & src) && insn[i].off >= 0 &&
		    insn[i].off / 8 + 1 > args)
			args = insn[i].off / 8 + 1;
		if (code == (BPF_ALU64 | BPF_MOV | BPF_X) && (is_ctx & src))
			is_ctx |= dst;
		else if (cls == BPF_LDX || cls == BPF_LD || cls == BPF_ALU || cls == BPF_ALU64)
			is_ctx &= ~dst;
		else if (code == (BPF_JMP | BPF_CALL))
			is_ctx &= ~0x3fu; /* r0 to r5 do not survive a call */
	}
	return args;
}

/* The reason ABSENT.list gives for `what` on this kernel, or NULL. */
static const char *excuse(const struct check *c, const char *what)
{
	for (size_t i = 0; i < c->nabsent; i++)
		if (fnmatch(c->absent[i].kernel, c->kernel, 0) == 0 &&
		    fnmatch(c->absent[i].hook, what, 0) == 0)
			return c->absent[i].reason;
	return NULL;
}

/* "HOOK/N" in ABSENT.list: the hook has N arguments there, and the program copes when it is loaded.
 */
static bool args_excused(const struct check *c, const struct hook *h, int args)
{
	char what[NAME_LEN + 16];

	(void)snprintf(what, sizeof(what), "%s/%d", h->name, args);
	return args >= 0 && excuse(c, what);
}

static bool program_fits(const struct check *c, const struct bpf_program *prog)
{
	struct hook h = hook_parse(bpf_program__section_name(prog));
	int args;

	if (h.kind == HOOK_NONE)
		return true;
	args = hook_args(c->btf, &h);
	return args >= program_args(prog) || args_excused(c, &h, args);
}

static bool hook_served(const struct check *c, struct bpf_object *obj, const struct hook *h)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
	{
		struct hook other = hook_parse(bpf_program__section_name(prog));

		if (other.kind == h->kind && strcmp(other.name, h->name) == 0 &&
		    program_fits(c, prog))
			return true;
	}
	return false;
}

static void judge_hooks(struct check *c, struct bpf_object *obj)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
	{
		struct hook h = hook_parse(bpf_program__section_name(prog));
		const char *reason;
		bool served;

		if (h.kind == HOOK_NONE)
			continue;
		served = hook_served(c, obj, &h);
		reason = excuse(c, h.name);
		if (!served && !reason)
			problem(c,
				"%s: no program fits (%s takes %d arguments, the kernel's has %d)",
				h.name, bpf_program__name(prog), program_args(prog),
				hook_args(c->btf, &h));
		else if (served && reason)
			problem(c, "%s: there, though absent.list says: %s", h.name, reason);
	}
}

/* ---- kernel symbols ---- */

/* Undefined in the object; libbpf forgets the functions among them when it opens it. */
static void judge_symbol(struct check *c, Elf *elf, const GElf_Shdr *sh, const GElf_Sym *sym)
{
	const char *name = elf_strptr(elf, sh->sh_link, sym->st_name);

	if (sym->st_shndx != SHN_UNDEF || !name || !*name || strncmp(name, "CONFIG_", 7) == 0 ||
	    strncmp(name, "LINUX_", 6) == 0) /* these libbpf provides */
		return;
	/* Weak ones may be missing: programs ask bpf_ksym_exists() before, or are not loaded. */
	if (GELF_ST_BIND(sym->st_info) == STB_WEAK ||
	    btf__find_by_name_kind(c->btf, name, BTF_KIND_VAR) >= 0 ||
	    btf__find_by_name_kind(c->btf, name, BTF_KIND_FUNC) >= 0)
		return;
	problem(c, "%s: no such kernel variable or function", name);
}

static void judge_symbols(struct check *c, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;

	while (elf && (scn = elf_nextscn(elf, scn))) {
		Elf_Data *data = elf_getdata(scn, NULL);

		if (!data || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		for (size_t i = 0; i < sh.sh_size / sh.sh_entsize; i++)
			if (gelf_getsym(data, (int)i, &sym))
				judge_symbol(c, elf, &sh, &sym);
	}
	elf_end(elf);
	if (fd >= 0)
		(void)close(fd); /* read only */
}

/* ---- relocations ---- */

/* Is `type` the type in `field` ("type" or "type.member...")? */
static bool field_of(const char *field, const char *type)
{
	size_t n = strlen(type);

	return strncmp(field, type, n) == 0 && (field[n] == '.' || !field[n]);
}

/*
 * Does the program ask first? About this very field; or, for a type that is not there, about the
 * type; or, for a flavour (a type as other kernels have it), about anything of the type.
 */
static bool relo_guarded(const struct check *c, const struct relo *miss)
{
	for (size_t i = 0; i < c->nrelos; i++) {
		const struct relo *r = &c->relos[i];
		char type[NAME_LEN];

		if (!is_question(r) || strcmp(r->prog, miss->prog))
			continue;
		if (strcmp(r->field, miss->field) == 0)
			return true;
		if (r->missing && field_of(miss->field, r->field))
			return true;
		(void)snprintf(type, sizeof(type), "%.*s", (int)strcspn(r->field, "."), r->field);
		if (miss->flavour && field_of(miss->field, type))
			return true;
	}
	return false;
}

static void judge_relos(struct check *c, struct bpf_object *obj, int *resolved, int *guarded)
{
	for (size_t i = 0; i < c->nrelos; i++) {
		const struct relo *r = &c->relos[i];
		struct bpf_program *prog = bpf_object__find_program_by_name(obj, r->prog);

		if (prog && !program_fits(c, prog))
			continue;
		if (!r->missing && r->poisoned)
			problem(c, "%s: %s of %s: the kernel's has another size", r->prog, r->kind,
				r->field);
		else if (!r->missing)
			(*resolved)++;
		else if (is_question(r) || relo_guarded(c, r))
			(*guarded)++;
		else
			problem(c, "%s: %s of %s: missing and unguarded", r->prog, r->kind,
				r->field);
	}
	if (c->overflow)
		problem(c, "more than %d relocations: raise MAX_RELOS", MAX_RELOS);
	if (!c->nrelos)
		problem(c, "nothing was relocated: %s",
			*c->first_warning ? c->first_warning : "no CO-RE access in it");
}

static struct bpf_object *open_object(const char *path, const char *btf_path)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = btf_path);
	struct bpf_object *obj = bpf_object__open_file(path, &opts);
	struct bpf_program *prog;
	struct bpf_map *map;

	if (!obj)
		return NULL;
	bpf_object__for_each_program(prog, obj)(void) bpf_program__set_autoload(prog, true);
	/* No maps: their uses are poisoned, no program loads, and none has to. */
	bpf_object__for_each_map(map, obj)(void) bpf_map__set_autocreate(map, false);
	return obj;
}

/* 0, or -1 when it could not be judged at all. */
static int check_one(struct check *c, const char *path, const char *btf_path, int nr)
{
	struct bpf_object *obj = open_object(path, btf_path);
	int resolved = 0, guarded = 0;

	if (!obj) {
		problem(c, "cannot be opened: %s", c->first_warning);
	} else {
		(void)bpf_object__load(obj); /* fails on purpose, after relocating */
		judge_hooks(c, obj);
		judge_symbols(c, path);
		judge_relos(c, obj, &resolved, &guarded);
		bpf_object__close(obj);
	}
	printf("%s %d - %s on %s: %d resolved, %d missing but guarded\n",
	       c->problems ? "not ok" : "ok", nr, c->object, c->kernel, resolved, guarded);
	return c->problems;
}

/* ---- input ---- */

static int read_absent(const char *path, struct absent **out, size_t *n)
{
	FILE *f = fopen(path, "re");
	char line[512];
	struct absent a, *v;

	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#' ||
		    sscanf(line, "%63s %127s %127[^\n]", a.kernel, a.hook, a.reason) != 3)
			continue;
		v = realloc(*out, (*n + 1) * sizeof(*v));
		if (!v)
			break;
		*out = v;
		v[(*n)++] = a;
	}
	(void)fclose(f); /* read only */
	return 0;
}

/* "tests/btf/5.10-amd64.btf" -> "5.10-amd64", "build/bpf/sched.bpf.o" -> "sched" */
static void base_name(char *out, size_t len, const char *path, const char *suffix)
{
	const char *slash = strrchr(path, '/');
	char *end;

	(void)snprintf(out, len, "%s", slash ? slash + 1 : path);
	end = strstr(out, suffix);
	if (end)
		*end = 0;
}

int main(int argc, char **argv)
{
	struct absent *absent = NULL;
	size_t nabsent = 0;
	struct relo *relos;
	int objects = 0, nr = 0, failed = 0;

	for (int i = 2; i < argc && !objects; i++)
		if (strcmp(argv[i], "--") == 0)
			objects = i + 1;
	if (objects < 4 || objects >= argc) {
		fprintf(stderr, "usage: corecheck ABSENT.list FIXTURE.btf... -- OBJECT...\n");
		return 2;
	}
	if (geteuid() != 0) {
		printf("1..0 # SKIP not root: libbpf tests that BPF works before it relocates\n");
		return 0;
	}
	relos = calloc(MAX_RELOS, sizeof(*relos));
	if (!relos || read_absent(argv[1], &absent, &nabsent)) {
		printf("Bail out! %s: cannot be read\n", argv[1]);
		return 1;
	}
	libbpf_set_print(on_print);
	(void)elf_version(EV_CURRENT);
	printf("1..%d\n", (argc - objects) * (objects - 3));
	for (int o = objects; o < argc; o++) {
		for (int k = 2; k < objects - 1; k++) {
			char object[NAME_LEN];
			struct check c = {.object = object,
					  .absent = absent,
					  .nabsent = nabsent,
					  .relos = relos};

			base_name(object, sizeof(object), argv[o], ".bpf.o");
			base_name(c.kernel, sizeof(c.kernel), argv[k], ".btf");
			c.btf = btf__parse_raw(argv[k]);
			current = &c;
			if (!c.btf)
				problem(&c, "%s: not BTF", argv[k]);
			if (!c.btf || check_one(&c, argv[o], argv[k], ++nr))
				failed++;
			current = NULL;
			btf__free(c.btf);
		}
	}
	free(relos);
	free(absent);
	return failed ? 1 : 0;
}
