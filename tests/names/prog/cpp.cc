// SPDX-License-Identifier: GPL-2.0-or-later
// Variables of C++: namespaces, templates, bases, the standard library's locks.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "truth.h"

#define SHOW(address, object, name, symbol, path)                                              \
	TRUTH_AS(address, object, name, symbol, path, object##_line)

struct nothing {
};

struct base {
	uint64_t id;
};

struct other_base {
	uint32_t low, high;
};

namespace shop
{
template <typename T> struct holder : base, other_base, nothing {
	T value;
	std::mutex lock;
	std::recursive_mutex again;
	std::shared_mutex shared;
	std::condition_variable cond;
	std::unique_ptr<int> pointer;
	static int unrelated;
	static constexpr int constant = 3;
};
template <typename T> int holder<T>::unrelated = 1;

struct shaped : virtual base {
	virtual ~shaped() = default;
	uint64_t own;
};

DECLARED(stock);
holder<long> stock;

class till
{
      public:
	uint64_t cash;
	std::mutex guard;
};

namespace
{
DECLARED(tills);
till tills[3];
} // namespace
} // namespace shop

DECLARED(top_mutex);
std::mutex top_mutex;
struct locked : std::mutex {
	int n;
};
DECLARED(inherited);
locked inherited;
static shop::shaped shape;

static int *local()
{
	static int counted = 1;
	enum { counted_line = __LINE__ - 1 };

	SHOW(&counted, counted, "local()::counted", "local()::counted", "");
	return &counted;
}

// Threads that wait for good, each on another kind of lock.
static void wait_on_all()
{
	static std::mutex own;

	shop::stock.lock.lock();
	shop::tills[1].guard.lock();
	std::thread([] { shop::stock.lock.lock(); }).detach();
	std::thread([] { shop::tills[1].guard.lock(); }).detach();
	std::thread([] {
		std::unique_lock<std::mutex> held(own);

		shop::stock.cond.wait(held);
	}).detach();
}

int main()
{
	using shop::stock;
	using shop::stock_line;
	auto &tills = shop::tills;
	enum { tills_line = shop::tills_line };

	SHOW(&stock.id, stock, "shop::stock", "shop::stock", ".id");
	SHOW(&stock.high, stock, "shop::stock", "shop::stock", ".high");
	SHOW(&stock.value, stock, "shop::stock", "shop::stock", ".value");
	SHOW(&stock.lock, stock, "shop::stock", "shop::stock", ".lock");
	SHOW((char *)&stock.lock + 8, stock, "shop::stock", "shop::stock", ".lock+0x8");
	SHOW(&stock.again, stock, "shop::stock", "shop::stock", ".again");
	SHOW(&stock.shared, stock, "shop::stock", "shop::stock", ".shared");
	SHOW(&stock.cond, stock, "shop::stock", "shop::stock", ".cond");
	SHOW(&tills[2].guard, tills, "shop::(anonymous namespace)::tills",
	     "shop::(anonymous namespace)::tills", "[2].guard");
	SHOW(&top_mutex, top_mutex, "top_mutex", "top_mutex", "");
	SHOW(&inherited, inherited, "inherited", "inherited", "");
	*local() += shop::holder<long>::unrelated;
	printf("virtual %p %p\n", (void *)&shape.own, (void *)&shape.id);
	printf("shape %p\n", (void *)&shape);
	wait_on_all();
	truth_end();
	_exit(0);
}
