// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * struct pages. Where their array begins is a variable without a symbol; but a slab that is not
 * full is such a page and knows the address of a free object in it, and that gives the one from the
 * other.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/clock.h"
#include "names/kernel.h"

#define PAGE_SHIFT 12
#define PAGE_BYTES 64ULL /* of a struct page */
#define ORIGIN_ALIGN \
	(1ULL << 24) /* both maps begin at multiples of 1 GB: 64 bytes a page of 4 KB */
#define CACHES_MAX 1000
#define MASK_MAX (1ULL << 32)
#define RETRY_NS 10000000000ULL

static bool page_readable(struct names_kernel *k, uint64_t addr)
{
	uint8_t byte;

	return !peek_read(&k->peek, addr, &byte, 1);
}

struct slab_layout {
	int64_t node, partial, nr_partial, slab_list, freelist, owner, list;
	int64_t cpu_slab, cpu_page, cpu_freelist, cpu_partial; /* negative: not there */
};

/* d122019bf061 ("mm: Split slab into its own type", 5.17): before it in struct page. */
static int64_t slab_offset(struct names_kernel *k, const char *member)
{
	int64_t at = kernel_offset(k, "slab", member);

	return at < 0 ? kernel_offset(k, "page", member) : at;
}

static int read_layout(struct names_kernel *k, struct slab_layout *l)
{
	l->node = kernel_offset(k, "kmem_cache", "node");
	if (l->node < 0)
		l->node = kernel_offset(k, "kmem_cache", "per_node.node"); /* 7.2 */
	l->list = kernel_offset(k, "kmem_cache", "list");
	l->partial = kernel_offset(k, "kmem_cache_node", "partial");
	l->nr_partial = kernel_offset(k, "kmem_cache_node", "nr_partial");
	l->slab_list = slab_offset(k, "slab_list");
	l->freelist = slab_offset(k, "freelist");
	l->owner = slab_offset(k, "slab_cache");
	l->cpu_slab = kernel_offset(k, "kmem_cache", "cpu_slab");
	l->cpu_page = kernel_offset(k, "kmem_cache_cpu", "slab");
	if (l->cpu_page < 0)
		l->cpu_page = kernel_offset(k, "kmem_cache_cpu", "page");
	l->cpu_freelist = kernel_offset(k, "kmem_cache_cpu", "freelist");
	l->cpu_partial = kernel_offset(k, "kmem_cache_cpu", "partial");
	return l->node < 0 || l->list < 0 || l->partial < 0 || l->nr_partial < 0 ||
			       l->slab_list < 0 || l->freelist < 0 || l->owner < 0
		       ? -ENOENT
		       : 0;
}

/*
 * page - (object >> 12) * PAGE_BYTES is the origin less 64 bytes for each page that the object lies
 * behind its slab's first: rounded up it is exact, whatever the slab's order.
 */
static uint64_t origin_from(struct names_kernel *k, const struct slab_layout *l, uint64_t cache,
			    uint64_t slab, uint64_t object)
{
	if (!slab || !object || kernel_at(k, slab, l->owner) != cache)
		return 0; /* changed while we looked; or the head of the list of caches */
	return (slab - (object >> PAGE_SHIFT) * PAGE_BYTES + ORIGIN_ALIGN - 1) &
	       ~(ORIGIN_ALIGN - 1);
}

/* A slab that a node has in stock. */
static uint64_t origin_from_node(struct names_kernel *k, const struct slab_layout *l,
				 uint64_t cache)
{
	uint64_t node = kernel_at(k, cache, l->node), slab;

	if (!kernel_at(k, node, l->nr_partial))
		return 0;
	slab = kernel_at(k, node, l->partial) - (uint64_t)l->slab_list;
	return origin_from(k, l, cache, slab, kernel_at(k, slab, l->freelist));
}

/* A slab that a CPU allocates from, or has in stock: a small machine has no others. */
static uint64_t origin_from_cpus(struct names_kernel *k, const struct slab_layout *l,
				 uint64_t cache)
{
	uint64_t origin = 0, slab, percpu;

	if (l->cpu_slab < 0 || l->cpu_page < 0 || l->cpu_freelist < 0)
		return 0; /* gone with slub's sheaves */
	percpu = kernel_at(k, cache, l->cpu_slab);
	for (uint32_t cpu = 0; !origin && (!cpu || cpu < k->percpu.ncpus); cpu++) {
		uint64_t at = percpu_address(k, percpu, cpu);

		if (!at)
			continue;
		slab = kernel_at(k, at, l->cpu_page);
		origin = origin_from(k, l, cache, slab, kernel_at(k, at, l->cpu_freelist));
		if (origin || l->cpu_partial < 0)
			continue;
		slab = kernel_at(k, at, l->cpu_partial);
		origin = origin_from(k, l, cache, slab, kernel_at(k, slab, l->freelist));
	}
	return origin;
}

static uint64_t page_address(struct names_kernel *k, uint64_t page)
{
	return (page - k->pages.origin) / PAGE_BYTES << PAGE_SHIFT;
}

/*
 * The page of a compound that has its count and flags. Others have its address and the lowest bit
 * set; since compound_info (7.0) that or a mask to get there, told by all its upper bits.
 */
static uint64_t head_of(struct names_kernel *k, uint64_t page)
{
	int64_t at = kernel_offset(k, "page", "compound_head");
	uint64_t head;

	if (at < 0)
		at = kernel_offset(k, "page", "compound_info");
	if (at < 0 || peek_read(&k->peek, page + (uint64_t)at, &head, sizeof(head)))
		return 0;
	if (!(head & 1))
		return page;
	return ~head < MASK_MAX ? page & head : head - 1;
}

/* Some cache: that of our pid namespace's pids. All others hang on its list. */
static uint64_t some_cache(struct names_kernel *k)
{
	static const char *const way[][2] = {
		{"task_struct", "nsproxy"},
		{"nsproxy", "pid_ns_for_children"},
		{"pid_namespace", "pid_cachep"},
	};
	uint64_t at = peek_task(&k->peek);

	for (size_t i = 0; i < sizeof(way) / sizeof(way[0]); i++)
		at = kernel_at(k, at, kernel_offset(k, way[i][0], way[i][1]));
	return at;
}

/* By the first two caches that have such a slab, which must agree. */
static int find_origin(struct names_kernel *k)
{
	uint64_t first = 0, cache = some_cache(k), at = cache, origin, next;
	struct slab_layout l;
	int left = CACHES_MAX;

	if (!cache || read_layout(k, &l))
		return -ENOTSUP;
	while (left--) {
		origin = origin_from_node(k, &l, at);
		if (!origin)
			origin = origin_from_cpus(k, &l, at);
		if (origin && first) {
			k->pages.origin = first;
			return origin == first ? 0 : -ENOTSUP;
		}
		if (origin)
			first = origin;
		next = kernel_at(k, at, l.list);
		at = next - (uint64_t)l.list;
		if (!next || at == cache)
			break;
	}
	return -ENOTSUP;
}

bool pages_known(struct names_kernel *k)
{
	if (k->pages.state < 0 && clock_mono_ns() - k->pages.tried_ns > RETRY_NS)
		k->pages.state = 0; /* there was no slab to learn from */
	if (!k->pages.state && kernel_peek_ready(k)) {
		k->pages.tried_ns = clock_mono_ns();
		/* The rounding of origin_from is for this size; others have more checks compiled
		 * in. */
		k->pages.state = -ENOTSUP;
		if (kernel_size(k, "page", NULL) == PAGE_BYTES)
			k->pages.state = find_origin(k) ?: 1;
	}
	return k->pages.state > 0;
}

/* ---- what a page is for ---- */

/* The type is in the highest byte since 4ffca5a96678 ("mm: support only one page_type per page",
 * 6.12). */
static bool has_page_type(struct names_kernel *k, uint64_t page, int64_t type)
{
	int64_t at = kernel_offset(k, "page", "page_type");

	return at >= 0 && peek_u32(&k->peek, page + (uint64_t)at) >> 24 == type;
}

/* A flag of the page until 46df8e73a4a3 ("mm: free up PG_slab", 6.10), then its type. */
static bool is_slab(struct names_kernel *k, uint64_t head)
{
	int64_t type = kernel_enum(k, "pagetype", "PGTY_slab"), flag;

	if (type > 0)
		return has_page_type(k, head, type);
	flag = kernel_enum(k, "pageflags", "PG_slab");
	return flag >= 0 && peek_u64(&k->peek, head) >> flag & 1;
}

bool page_slab_of(struct names_kernel *k, uint64_t addr, uint64_t *cache, uint64_t *start)
{
	int64_t owner = slab_offset(k, "slab_cache");
	uint64_t head = 0;

	if (pages_known(k))
		head = head_of(k, k->pages.origin + (addr >> PAGE_SHIFT) * PAGE_BYTES);
	if (!head || owner < 0 || !is_slab(k, head))
		return false;
	*cache = kernel_at(k, head, owner);
	*start = page_address(k, head);
	return *cache && *start <= addr;
}

/* ---- naming ---- */

#define DIRECT_MAP_FIRST 0xffff888000000000ULL /* x86 with 4 levels: it begins here or behind */
#define GIGABYTE (1ULL << 30)
#define GIGABYTES_MAX 65536

/*
 * page_offset_base: the map of all memory begins at a multiple of 1 GB, at random, and nothing is
 * mapped before it.
 */
static uint64_t find_direct_map(struct names_kernel *k, uint64_t in_it)
{
	uint64_t at = DIRECT_MAP_FIRST;
	int left = GIGABYTES_MAX;

#if !defined(__x86_64__)
	return 0;
#endif
	for (; at < in_it && left--; at += GIGABYTE)
		if (page_readable(k, at + (1 << PAGE_SHIFT)))
			return at;
	return 0;
}

bool page_name(struct names_kernel *k, uint64_t addr, struct name *out)
{
	uint64_t page, memory, base;
	int64_t table;
	const char *type;

	if (!pages_known(k))
		return false;
	page = addr & ~(PAGE_BYTES - 1);
	memory = page_address(k, page);
	/* Of what is no struct page this would be no address. */
	if (!(memory >> 63) || !page_readable(k, memory) || !page_readable(k, page))
		return false;
	/* A page table's page goes by another struct, which has its lock. */
	table = kernel_enum(k, "pagetype", "PGTY_table");
	type = table > 0 && has_page_type(k, page, table) ? "ptdesc" : "page";
	if (!kernel_name_in(k, addr, page, type, NULL, out))
		return false;
	if (!k->pages.direct_map_tried) {
		k->pages.direct_map = find_direct_map(k, memory);
		k->pages.direct_map_tried = true;
	}
	base = k->pages.direct_map;
	if (base)
		name_print(out->place, sizeof(out->place), false, "pfn 0x%" PRIx64,
			   (memory - base) >> PAGE_SHIFT);
	else
		name_print(out->place, sizeof(out->place), false, "page of 0x%" PRIx64, memory);
	return true;
}
