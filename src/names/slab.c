// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Slab objects: cache, offset in the object, and the member there when it is certain what the
 * object is. Caches of like objects are merged and go by the name of whichever was first, so all
 * names of a cache are asked.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/array.h"
#include "names/kernel.h"

#define SLAB_DIR "/sys/kernel/slab"
#define OLD_NS 1000000000ULL
#define MERGE_SLACK 64U /* caches are merged when their sizes, aligned, are the same */

struct object {
	char cache[64];
	uint32_t bytes; /* of an object; 0: not known */
	uint32_t offset;
	bool offset_known;
	uint64_t start; /* 0: not known */
};

/* ---- what they are, by the name of the cache ---- */

/* Only those that the rule (the struct's name, or that and _cache) does not find. */
static const struct {
	const char *cache, *type; /* type "": bytes */
	bool tail;
} known_types[] = {
	{"AF_VSOCK", "vsock_sock", false},
	{"MPTCP", "mptcp_sock", false},
	{"MPTCPv6", "mptcp6_sock", false},
	{"PING", "inet_sock", false},
	{"PINGv6", "raw6_sock", false},
	{"RAW", "raw_sock", false},
	{"RAWv6", "raw6_sock", false},
	{"TCP", "tcp_sock", false},
	{"TCPv6", "tcp6_sock", false},
	{"UDP", "udp_sock", false},
	{"UDP-Lite", "udp_sock", false},
	{"UDPLITEv6", "udp6_sock", false},
	{"UDPv6", "udp6_sock", false},
	{"UNIX", "unix_sock", false},
	{"UNIX-STREAM", "unix_sock", false},
	{"bdev_cache", "bdev_inode", false},
	{"bfilp", "backing_file", false},
	{"blkdev_ioc", "io_context", false},
	{"btrfs_extent_buffer", "extent_buffer", false},
	{"btrfs_extent_map", "extent_map", false},
	{"btrfs_extent_state", "extent_state", false},
	{"btrfs_inode_defrag", "inode_defrag", false},
	{"btrfs_prelim_ref", "prelim_ref", false},
	{"cred_jar", "cred", false},
	{"dax_cache", "dax_device", false},
	{"debugfs_inode_cache", "debugfs_inode_info", false},
	{"ep_head", "epitems_head", false},
	{"eventpoll_epi", "epitem", false},
	{"eventpoll_pwq", "eppoll_entry", false},
	{"ext4_groupinfo_16k", "ext4_group_info", true},
	{"ext4_groupinfo_1k", "ext4_group_info", true},
	{"ext4_groupinfo_2k", "ext4_group_info", true},
	{"ext4_groupinfo_32k", "ext4_group_info", true},
	{"ext4_groupinfo_4k", "ext4_group_info", true},
	{"ext4_groupinfo_64k", "ext4_group_info", true},
	{"ext4_groupinfo_8k", "ext4_group_info", true},
	{"ext4_inode_cache", "ext4_inode_info", false},
	{"fasync_cache", "fasync_struct", false},
	{"file_lock_ctx", "file_lock_context", false},
	{"files_cache", "files_struct", false},
	{"filp", "file", false},
	{"fs_cache", "fs_struct", false},
	{"fuse_request", "fuse_req", false},
	{"hugetlbfs_inode_cache", "hugetlbfs_inode_info", false},
	{"inode_cache", "inode", false},
	{"iommu_iova", "iova", false},
	{"iommu_iova_magazine", "iova_magazine", false},
	{"ip6_dst_cache", "rt6_info", false},
	{"ip_dst_cache", "rtable", false},
	{"jbd2_journal_head", "journal_head", false},
	{"jbd2_transaction_s", "transaction_s", false},
	{"key_jar", "key", false},
	{"kvm_mmu_page_header", "kvm_mmu_page", false},
	{"mm_struct", "mm_struct", true},
	{"mnt_cache", "mount", false},
	{"mqueue_inode_cache", "mqueue_inode_info", false},
	{"names_cache", "", false},
	{"net_namespace", "net", false},
	{"nf_conntrack", "nf_conn", false},
	{"numa_policy", "mempolicy", false},
	{"page->ptl", "spinlock", false},
	{"pid", "pid", true},
	{"pid_2", "pid", true},
	{"pid_3", "pid", true},
	{"posix_timers_cache", "k_itimer", false},
	{"proc_dir_entry", "proc_dir_entry", true},
	{"proc_inode_cache", "proc_inode", false},
	{"radix_tree_node", "xa_node", false},
	{"request_sock_TCP", "tcp_request_sock", false},
	{"request_sock_TCPv6", "tcp_request_sock", false},
	{"shared_policy_node", "sp_node", false},
	{"shmem_inode_cache", "shmem_inode_info", false},
	{"sighand_cache", "sighand_struct", false},
	{"signal_cache", "signal_struct", false},
	{"skbuff_ext_cache", "skb_ext", true},
	{"skbuff_fclone_cache", "sk_buff_fclones", false},
	{"skbuff_head_cache", "sk_buff", false},
	{"sock_inode_cache", "socket_alloc", false},
	{"squashfs_inode_cache", "squashfs_inode_info", false},
	{"task_struct", "task_struct", true},
	{"tcp_bind2_bucket", "inet_bind2_bucket", false},
	{"tcp_bind_bucket", "inet_bind_bucket", false},
	{"tw_sock_TCP", "tcp_timewait_sock", false},
	{"uid_cache", "user_struct", false},
	{"xfs_buf_item", "xfs_buf_log_item", false},
	{"xfs_ili", "xfs_inode_log_item", false},
	{"xfs_log_ticket", "xlog_ticket", false},
};

/* Scatter lists, pages' worth of data, ACPI's objects: none of them has a lock. */
static const char *const byte_prefixes[] = {"sgpool-", "biovec-", "skbuff_small_head", "Acpi-"};

bool slab_is_general(const char *cache)
{
	return strstr(cache, "kmalloc") != NULL; /* kmalloc-64, dma-kmalloc-64, kmalloc-rnd-01-64 */
}

static void by_rule(const char *cache, struct slab_type *out)
{
	size_t n = strlen(cache);

	out->content = SLAB_STRUCT;
	(void)snprintf(out->type, sizeof(out->type), "%s", cache); /* cut: no struct */
	if (n > 6 && !strcmp(cache + n - 6, "_cache"))
		(void)snprintf(out->other, sizeof(out->other), "%.*s", (int)n - 6, cache);
}

void slab_type_of(const char *cache, struct slab_type *out)
{
	memset(out, 0, sizeof(*out));
	if (slab_is_general(cache))
		return;
	for (size_t i = 0; i < sizeof(byte_prefixes) / sizeof(byte_prefixes[0]); i++)
		if (!strncmp(cache, byte_prefixes[i], strlen(byte_prefixes[i])))
			out->content = SLAB_BYTES;
	for (size_t i = 0; i < sizeof(known_types) / sizeof(known_types[0]); i++) {
		if (strcmp(known_types[i].cache, cache))
			continue;
		out->content = known_types[i].type[0] ? SLAB_STRUCT : SLAB_BYTES;
		out->tail = known_types[i].tail;
		(void)snprintf(out->type, sizeof(out->type), "%s", known_types[i].type);
	}
	if (out->content == SLAB_UNKNOWN)
		by_rule(cache, out);
}

void slab_module_of(const char *cache, char *out, size_t len)
{
	(void)snprintf(out, len, "%.*s", (int)strcspn(cache, "_"), cache); /* cut: no module */
}

/* ---- the names of merged caches ---- */

static int add_alias(struct slabs *s, const char *name, const char *dir)
{
	struct slab_alias *a = array_room(s->v, &s->cap, s->n, 1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	s->v = a;
	a += s->n++;
	name_print(a->name, sizeof(a->name), false, "%s", name);
	name_print(a->dir, sizeof(a->dir), false, "%s", dir);
	return 0;
}

/* A cache of its own is a directory; one that may share is a link to a directory ":0000192". */
static void read_aliases(struct slabs *s)
{
	DIR *d = opendir(SLAB_DIR);
	struct dirent *entry;
	char target[64];
	ssize_t n;

	s->n = 0;
	while (d && (entry = readdir(d))) {
		if (entry->d_name[0] == '.' || entry->d_name[0] == ':')
			continue;
		n = readlinkat(dirfd(d), entry->d_name, target, sizeof(target) - 1);
		if (n > 0)
			target[n] = '\0';
		if (add_alias(s, entry->d_name, n > 0 ? target : entry->d_name))
			break; /* no memory */
	}
	if (d)
		closedir(d);
}

static const char *dir_of(const struct slabs *s, const char *cache)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->v[i].name, cache))
			return s->v[i].dir;
	return NULL;
}

/* The directory of a cache; read anew, but not more than once a second, when it is not known. */
static const char *find_dir(struct slabs *s, const char *cache)
{
	uint64_t now = clock_mono_ns();
	const char *dir = dir_of(s, cache);

	if (dir || (s->read_at_ns && now - s->read_at_ns < OLD_NS))
		return dir;
	s->read_at_ns = now;
	read_aliases(s);
	return dir_of(s, cache);
}

void slabs_close(struct slabs *s)
{
	free(s->v);
	memset(s, 0, sizeof(*s));
}

/* ---- the object ---- */

static uint32_t cache_u32(struct names_kernel *k, uint64_t cache, const char *member)
{
	int64_t at = kernel_offset(k, "kmem_cache", member);

	return at < 0 ? 0 : peek_u32(&k->peek, cache + (uint64_t)at);
}

/*
 * The page says whose slab it is and where that begins. Where the kernel can be asked for the cache
 * both must agree: then the offset is certain.
 */
static bool look_up(struct names_kernel *k, uint64_t addr, struct object *o)
{
	uint64_t cache, by_page = 0, base = 0;
	int64_t name = kernel_offset(k, "kmem_cache", "name");
	uint32_t step, pad, at;
	bool paged;

	memset(o, 0, sizeof(*o));
	if (name < 0 || !kernel_peek_ready(k))
		return false;
	paged = page_slab_of(k, addr, &by_page, &base);
	cache = k->peek.slabs ? peek_cache(&k->peek, addr) : by_page;
	if (!cache)
		return false;
	peek_text(&k->peek, peek_u64(&k->peek, cache + (uint64_t)name), o->cache, sizeof(o->cache));
	o->bytes = cache_u32(k, cache, "object_size");
	step = cache_u32(k, cache, "size");
	pad = cache_u32(k, cache, "red_left_pad"); /* 0 where there is none */
	at = paged && step ? (uint32_t)((addr - base) % step) : 0;
	if (paged && cache == by_page && step && at >= pad && at - pad < o->bytes) {
		o->offset = at - pad;
		o->start = addr - o->offset;
		o->offset_known = true;
	}
	return o->cache[0];
}

bool slab_object(struct names_kernel *k, uint64_t addr, uint64_t *start, uint32_t *bytes)
{
	struct object o;

	if (!look_up(k, addr, &o) || !o.offset_known)
		return false;
	*start = o.start;
	*bytes = o.bytes;
	return true;
}

/* ---- what it is ---- */

enum fit {
	FIT_UNKNOWN, /* what these objects are is not known */
	FIT_NO,	     /* known, and no lock or atomic there */
	FIT_YES,
};

static bool size_fits(const struct object *o, int64_t size, bool tail, bool merged)
{
	if (!o->bytes || size <= 0)
		return false;
	return tail || (size <= o->bytes && o->bytes - size < (merged ? MERGE_SLACK : 1));
}

/* The struct that objects of the cache called `name` are, 0 if that is not known. */
static uint32_t type_of(struct names_kernel *k, const struct object *o, const char *name,
			bool merged, struct slab_type *type, const struct btf_view **v)
{
	char module[64];
	uint32_t id = 0;

	slab_type_of(name, type);
	slab_module_of(name, module, sizeof(module));
	if (type->content == SLAB_STRUCT)
		id = kernel_struct(k, type->type, module, v);
	if (!id && type->other[0]) {
		name_print(type->type, sizeof(type->type), false, "%s", type->other);
		id = kernel_struct(k, type->type, module, v);
	}
	return id && size_fits(o, btf_view_size(*v, id), type->tail, merged) ? id : 0;
}

static enum fit fit_of(struct names_kernel *k, const struct object *o, const char *name,
		       struct slab_type *type)
{
	const struct btf_view *v;
	uint32_t id = type_of(k, o, name, true, type, &v);
	struct member_at m;

	if (!id)
		return type->content == SLAB_BYTES ? FIT_NO : FIT_UNKNOWN;
	if (btf_member_at(v, id, o->offset, &m)) /* behind this one's end */
		return FIT_NO;
	return m.kind >= MEMBER_ATOMIC ? FIT_YES : FIT_NO;
}

static void place_add(struct name *out, const char *before, const char *word)
{
	name_print(out->place, sizeof(out->place), true, "%s%s", out->place[0] ? ", " : before,
		   word);
}

/* Is the word in the list already? */
static bool place_has(const struct name *out, const char *word)
{
	const char *at = out->place;
	size_t len = strlen(word);

	while ((at = strstr(at, word))) {
		if ((at[len] == ',' || !at[len]) && (at == out->place || at[-1] == ' '))
			return true;
		at += len;
	}
	return false;
}

static bool name_typed(struct names_kernel *k, uint64_t addr, const struct object *o,
		       const char *type, const char *cache, struct name *out)
{
	char module[64];

	slab_module_of(cache, module, sizeof(module));
	return kernel_name_in(k, addr, o->start, type, module, out);
}

/*
 * Several: a member is named if, of the structs that they are, exactly one has a lock or an atomic
 * there. One of which nothing is known could have, too.
 */
static bool name_merged(struct names_kernel *k, uint64_t addr, const struct object *o,
			const char *dir, struct name *out)
{
	const struct slab_alias *fits = NULL;
	struct slab_type type, chosen = {0};
	size_t i, yes = 0, unknown = 0;

	for (i = 0; i < k->slabs.n; i++) {
		const struct slab_alias *a = &k->slabs.v[i];
		enum fit fit = strcmp(a->dir, dir) ? FIT_NO : fit_of(k, o, a->name, &type);

		unknown += fit == FIT_UNKNOWN;
		if (fit != FIT_YES || (yes && !strcmp(type.type, chosen.type)))
			continue; /* caches of one struct (UNIX, UNIX-STREAM) are one candidate */
		yes++;
		fits = a;
		chosen = type;
	}
	if (yes == 1 && !unknown && name_typed(k, addr, o, chosen.type, fits->name, out)) {
		if (strcmp(fits->name, o->cache))
			place_add(out, "slab ", o->cache);
		return true;
	}
	return false;
}

/* All that it could be: "also sgpool-16, mem_cgroup_per_node.lruvec.lru_lock" */
static void list_candidates(struct names_kernel *k, uint64_t addr, const struct object *o,
			    const char *dir, struct name *out)
{
	struct slab_type type;
	struct name one;

	for (size_t i = 0; i < k->slabs.n; i++) {
		const struct slab_alias *a = &k->slabs.v[i];

		if (strcmp(a->dir, dir))
			continue;
		if (fit_of(k, o, a->name, &type) == FIT_YES &&
		    name_typed(k, addr, o, type.type, a->name, &one)) {
			if (!place_has(out, one.text))
				place_add(out, "also ", one.text);
		} else if (strcmp(a->name, o->cache)) {
			place_add(out, "also ", a->name);
		}
	}
}

bool slab_name(struct names_kernel *k, uint64_t addr, const struct kernel_hint *hint,
	       struct name *out)
{
	const struct btf_view *v;
	struct slab_type type;
	struct object o;
	const char *dir;
	size_t names = 0;

	if (!look_up(k, addr, &o))
		return false;
	dir = find_dir(&k->slabs, o.cache);
	for (size_t i = 0; dir && i < k->slabs.n; i++)
		names += !strcmp(k->slabs.v[i].dir, dir);
	if (o.offset_known && names == 1 && type_of(k, &o, o.cache, false, &type, &v) &&
	    name_typed(k, addr, &o, type.type, o.cache, out))
		return true;
	if (o.offset_known && names > 1 && name_merged(k, addr, &o, dir, out))
		return true;
	if (slab_is_general(o.cache) &&
	    ((o.offset_known && infer_name(k, addr, o.start, o.bytes, o.cache, hint, out)) ||
	     infer_elsewhere(k, hint, out)))
		return true;
	*out = (struct name){.found = NAME_REGION, .object = o.start};
	name_print(out->text, sizeof(out->text), false, "%s", o.cache);
	if (o.offset_known)
		name_print(out->text, sizeof(out->text), true, "+0x%x", o.offset);
	if (o.offset_known && names > 1)
		list_candidates(k, addr, &o, dir, out);
	return true;
}
