#!/usr/bin/env bash
# Runs shop.jmx on the example service, with the lock and then without. With the lock the
# stock must be 0 at the end, and without it must not.
#
#   USERS=1000 LOOPS=10 example_service/jmeter/run.sh
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

# exact NAME reports whether the stock was 0 at the end of the run. Other samples may have
# failed: a busy machine refuses some orders of the unlocked run.
exact() {
	case $(awk -F, '$3 == "stock" && $4 == 200 { print $8 }' "target/$1/samples.jtl") in
	true) ;;
	false) return 1 ;;
	*) echo "FAILED: the run $1 did not read the stock; see target/$1/jmeter.log"; exit 1 ;;
	esac
}

plan locked ""
plan unlocked /unlocked
if ! exact locked; then
	echo "FAILED: with the lock, the stock is not 0 at the end; see target/locked/report/index.html"
	exit 1
fi
if exact unlocked; then
	echo "FAILED: without the lock, the stock is 0 at the end, too; see target/unlocked/report/index.html"
	exit 1
fi
echo "PASSED: with the lock the stock is 0 at the end; without the lock it is not"
