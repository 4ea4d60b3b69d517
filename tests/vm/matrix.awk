# SPDX-License-Identifier: GPL-2.0-or-later
# The table of kernels and sources, from what the guests said (their tap files, in directories named
# after them):
#
#	# kernel 6.1.0-50-cloud-amd64 ..., 2 of 2 CPUs
#	# source sched --slower     yes
#	# source sched              yes (HOW)
#	# source lock               no: WHY
#	# lacks WHAT: WHY			of the source above it
#	ok 3 - NAME: ...

BEGIN {
	nsources = split("sched ext4 lock futex line watch", sources, " ")
	printf "| guest (%s) | kernel | CPUs online |", arch
	for (i = 1; i <= nsources; i++)
		printf " %s |", sources[i]
	print " tests passed |"
	for (i = 0; i < nsources + 4; i++)
		printf "|---"
	print "|"
}

# The number of a reason: each is told once, below the table.
function note(why) {
	if (!(why in notes)) {
		notes[why] = ++nnotes
		told[nnotes] = why
	}
	return " (" notes[why] ")"
}

# What `source` cannot do here is added to its cell.
function cannot(source, what, why) {
	sub("^" source ": ", "", why)
	sub(/ +$/, "", why)
	without[source] = without[source] (without[source] ? ", " : "") what note(why)
}

function cell(source) {
	if (!(source in state))
		return ""
	if (state[source] == "no")
		return "no" without[source]
	return "yes" (source in how ? note(how[source]) : "") (without[source] ? ", but not " without[source] : "")
}

function row(i) {
	printf "| %s | %s | %s |", guest, kernel, cpus
	for (i = 1; i <= nsources; i++)
		printf " %s |", cell(sources[i])
	printf " %d%s |\n", passed, skipped ? ", " skipped " skipped" : ""
}

function forget() {
	delete state
	delete without
	delete how
	passed = skipped = 0
	guest = FILENAME
	sub(/\/tap$/, "", guest)
	sub(/.*\//, "", guest)
}

FNR == 1 {
	if (NR > 1)
		row()
	forget()
}

/^# kernel / {
	kernel = $3
	cpus = $0
	sub(/ CPUs$/, "", cpus)
	sub(/.*, /, "", cpus)
}

/^# source / {
	source = $3
	way = $0
	sub(/^# source [a-z0-9]+ */, "", way)
	why = way
	sub(/^.*no: /, "", why)
	no = sub(/ *no: .*/, "", way)
	if (way ~ /yes \(.*\)$/) {
		how[source] = way
		gsub(/^.*yes \(|\)$/, "", how[source])
	}
	sub(/ *yes( \(.*\))?$/, "", way)
	if (way == "")
		state[source] = no ? "no" : "yes"
	if (no)
		cannot(source, way == "" ? "" : "`" way "`", why)
}

/^# lacks / {
	what = substr($0, 9)
	why = what
	sub(/: .*/, "", what)
	sub(/^[^:]*: /, "", why)
	cannot(source, what, why)
}

/^ok .*# SKIP/ {
	skipped++
	next
}

/^ok / {
	passed++
}

END {
	row()
	if (nnotes)
		print ""
	for (i = 1; i <= nnotes; i++)
		printf "%s(%d) %s", (i == 1 ? "" : "; "), i, told[i]
	if (nnotes)
		print "."
}
