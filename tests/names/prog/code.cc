// SPDX-License-Identifier: GPL-2.0-or-later
/* As code.c, in C++: locks of the library, templates, lambdas, methods. */
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

#include "code.h"

namespace shop {

template <typename T> class store {
public:
	inline void put(T value)
	{
		std::lock_guard<std::mutex> hold(lock);
		count(&puts);
		last = value;
	}

	T get()
	{
		std::unique_lock<std::mutex> hold(lock);
		return last;
	}

	long puts = 0;

private:
	std::mutex lock;
	T last{};
};

static store<long> orders;

__attribute__((noinline)) void settle(int turns)
{
	for (int i = 0; i < turns; i++)
		orders.put(i);
}

} // namespace shop

int main(int argc, char **)
{
	std::vector<std::thread> threads;
	char c;

	for (int i = 0; i < 2; i++)
		threads.emplace_back([argc] {
			for (int k = 0; k < argc * 10; k++)
				shop::orders.put(k);
			shop::settle(argc);
		});
	for (auto &t : threads)
		t.join();
	std::printf("ready\n");
	std::fflush(stdout);
	if (read(0, &c, 1) > 0)
		return 3;
	return shop::orders.get() < 0;
}
