#!/usr/bin/env bash
# Runs shop.jmx on the example service, with the lock and then without. With the lock the
# plan must pass. Without it the plan must fail, because the stock is not 0 at the end.
#
#   USERS=1000 LOOPS=10 lab/bench/jmeter/run.sh
#
# It needs Go, Java and Maven. Maven fetches JMeter; all files are below target.
set -euo pipefail
cd "$(dirname "$0")"
mvn --batch-mode --quiet package
mkdir -p target/jmeter/lib/ext target/jmeter/lib/junit
go build -o target/shop github.com/distlock-go/distlock/example_service

target/shop -http 127.0.0.1:0 -grpc 127.0.0.1:0 -wait 1m >target/shop.log &
shop=$!
trap 'kill $shop 2>/dev/null' EXIT
until grep -q '^http on' target/shop.log; do sleep 0.1; done
port=$(sed -n 's/^http on .*://p' target/shop.log)

# plan NAME ROUTE runs the plan, and prints the line of its summary.
plan() {
	rm -rf "target/$1" && mkdir "target/$1"
	java -Xmx2g -Djmeter.home=target/jmeter -Djava.util.prefs.userRoot=target -cp 'target/jmeter/lib/*' \
		org.apache.jmeter.NewDriver -n -t shop.jmx -l "target/$1/samples.jtl" -j "target/$1/jmeter.log" \
		-e -o "target/$1/report" -Jjmeterengine.nongui.port=0 -Jusers="${USERS:-1000}" -Jloops="${LOOPS:-10}" \
		-Jport="$port" -Jroute="$2" | tee "target/$1/out" | grep '^summary =' | tail -1
}

plan locked ""
plan unlocked /unlocked
if ! grep -q 'Err: *0 ' <(grep '^summary =' target/locked/out | tail -1); then
	echo "FAILED: with the lock, samples failed; see target/locked/report/index.html"
	exit 1
fi
if ! grep -q 'Err: *1 ' <(grep '^summary =' target/unlocked/out | tail -1); then
	echo "FAILED: without the lock, the stock was exact or more than the assertion failed"
	exit 1
fi
echo "with the lock the stock is 0 at the end; without the lock it is not"
