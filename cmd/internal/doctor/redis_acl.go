package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// A trial asks the server for a command that changes nothing: a command on a key that
// does not exist, with XX, or with an argument that the server refuses after it has
// checked the rights. So no right is needed to see the rights.
type trial struct {
	rule string // of the ACL, without the +
	args []any
	lack string // what is missing without the command; "": locks do not work
}

// clockKey has the last token.
const clockKey = "distlock:clock"

// probeKeys are keys that a lock would have, if there were one.
type probeKeys struct{ lock, queue, gone string }

func newProbeKeys(prefix string) probeKeys {
	lock := prefix + "distlock:doctor:" + uuid.NewString()
	name := tag(prefix) + "{" + lock + "}"
	return probeKeys{lock, name + ":queue", name + ":gone"}
}

// tag returns the hash tag in a prefix, with its braces, or "" if there is none. The names
// of the queue and the tombstones of a lock begin with the tag of its key.
func tag(prefix string) string {
	if _, rest, ok := strings.Cut(prefix, "{"); ok {
		if name, _, ok := strings.Cut(rest, "}"); ok && name != "" {
			return "{" + name + "}"
		}
	}
	return ""
}

// trials returns the commands of redislock. DEL and SET come before GETSET, which makes a
// key.
func trials(k probeKeys, channel string, cluster bool) []trial {
	all := []trial{
		{"eval", []any{"eval", "return 1", 0}, ""},
		{"evalsha", []any{"evalsha", strings.Repeat("0", 40), 0}, ""},
		{"get", []any{"get", k.lock}, ""},
		{"exists", []any{"exists", k.queue}, ""},
		{"set", []any{"set", k.lock, "x", "px", 1, "xx"}, ""},
		{"del", []any{"del", k.lock}, ""},
		{"pexpire", []any{"pexpire", k.lock, 1}, ""},
		{"pttl", []any{"pttl", k.lock}, ""},
		{"zadd", []any{"zadd", k.queue, "xx", 1, "x"}, ""},
		{"zrem", []any{"zrem", k.queue, "x"}, ""},
		{"zrange", []any{"zrange", k.queue, 0, 0}, ""},
		{"zscore", []any{"zscore", k.queue, "x"}, ""},
		{"zcard", []any{"zcard", k.queue}, ""},
		{"zremrangebyscore", []any{"zremrangebyscore", k.queue, 0, 0}, ""},
		{"publish", []any{"publish", channel, "doctor"}, ""},
		{"time", []any{"time"}, ""},
		{"getset", []any{"getset", k.gone, "doctor"}, "acquiring takes the server longer"},
		{"mget", []any{"mget", k.lock}, ""},
		{"subscribe", nil, "waiters poll"},
		{"ping", []any{"ping"}, "a dead connection for messages is noticed later"},
		{"hello", []any{"hello"}, "connections use the old protocol"},
		{"client|setname", []any{"client", "setname", "distlock-doctor"}, "a client with a name cannot connect"},
		{"info", []any{"info", "server"}, "no warning about eviction and replicas"},
		{"type", []any{"type", k.lock}, "errors do not name the type of a foreign lock"},
		{"wait", []any{"wait", 0, 1}, "WithWaitReplicas fails"},
		{"scan", []any{"scan", 0, "count", 1}, "distlock ls and Inspect fail"},
		{"zcount", []any{"zcount", k.queue, 0, 0}, "distlock ls and Inspect fail"},
		{"zrangebyscore", []any{"zrangebyscore", k.queue, 0, 0}, "distlock ls and Inspect fail"},
	}
	if cluster {
		all = append(all,
			trial{"cluster|slots", []any{"cluster", "slots"}, ""},
			trial{"command", []any{"command", "count"}, "the client logs warnings"})
	}
	return all
}

// refusal is why a server refuses a command.
type refusal int

const (
	allowed refusal = iota
	noCommand
	noKey
	noChannel
	unknownCommand
)

// refusalOf returns what an error says about the user's rights. An error that is about
// something else means that the command is allowed.
func refusalOf(err error) refusal {
	if err == nil {
		return allowed
	}
	text := strings.ToLower(err.Error())
	switch {
	case strings.Contains(text, "unknown command"), strings.Contains(text, "unknown subcommand"):
		return unknownCommand
	case !strings.HasPrefix(text, "noperm"):
		return allowed
	case strings.Contains(text, "to run"):
		return noCommand
	case strings.Contains(text, "channel"):
		return noChannel
	case strings.Contains(text, "key"):
		return noKey
	default:
		return noCommand
	}
}

// refused is a command and why it is refused.
type refused struct {
	trial
	why refusal
}

// access examines what the user may do, command by command.
func (s *redisServer) access(ctx context.Context, prefix string) []Finding {
	user, err := s.client.Do(ctx, "acl", "whoami").Text()
	if err != nil {
		user = s.client.Options().Username
	}
	if user == "" {
		user = "default"
	}
	o := s.client.Options()
	findings := []Finding{
		authentication(o.Password != "", onLoopback(o.Addr)),
		encryption(o.TLSConfig != nil, onLoopback(o.Addr)),
	}

	keys, channel := newProbeKeys(prefix), inbox+"doctor-"+uuid.NewString()
	results := make(map[string]error)
	var missing []refused
	for _, t := range trials(keys, channel, s.info["cluster_enabled"] == "1") {
		var err error
		switch {
		case t.rule == "subscribe":
			err = s.subscribe(ctx, channel)
		case t.rule == "getset" && s.leaves(ctx, keys.gone):
			continue
		default:
			err = s.client.Do(ctx, t.args...).Err()
		}
		if t.rule == "getset" {
			s.client.Del(ctx, keys.gone)
		}
		results[t.rule] = err
		if why := refusalOf(err); why == noCommand || why == unknownCommand {
			missing = append(missing, refused{t, why})
		}
	}
	return append(findings,
		scripts(refusalOf(results["eval"]), refusalOf(results["evalsha"])), writes(results["set"]),
		aclCommands(user, missing, behind(results, prefix, keys)), aclOptional(user, missing),
		s.keys(ctx, user, prefix, keys),
		aclChannels(user, refusalOf(results["publish"]), refusalOf(results["subscribe"])))
}

// behind returns the rules for what cannot be tried, because the user may not run other
// commands. They are in the advice all the same: otherwise the
// next examination would ask for them.
func behind(results map[string]error, prefix string, keys probeKeys) []string {
	var rules []string
	if prefix != "" && (refusalOf(results["get"]) == noCommand || refusalOf(results["set"]) == noCommand) {
		patterns := keyPatterns(prefix, keys)
		for _, key := range []string{keys.lock, keys.queue, keys.gone, clockKey} {
			rules = append(rules, "'"+patterns[key]+"'")
		}
	}
	if refusalOf(results["publish"]) == noCommand {
		rules = append(rules, "'&"+inbox+"*'")
	}
	if _, tried := results["getset"]; !tried {
		rules = append(rules, "+getset")
	}
	return rules
}

// keyPatterns returns the rule of the ACL for each key.
func keyPatterns(prefix string, keys probeKeys) map[string]string {
	name := "~" + tag(prefix) + "{" + prefix + "*}"
	return map[string]string{
		keys.lock: "~" + prefix + "*", keys.queue: name + ":queue", keys.gone: name + ":gone", clockKey: "~distlock:clock*",
	}
}

// keys examines which keys the user may use. The arguments are wrong: the server says
// NOPERM, or that they are wrong.
func (s *redisServer) keys(ctx context.Context, user, prefix string, keys probeKeys) Finding {
	var refused []string
	seen := false
	for _, key := range []string{keys.lock, keys.queue, keys.gone, clockKey} {
		get, set := refusalOf(s.client.Get(ctx, key).Err()), refusalOf(s.client.Do(ctx, "set", key, "x", "nx", "xx").Err())
		if get == noKey || set == noKey {
			refused = append(refused, key)
		}
		seen = seen || get != noCommand || set != noCommand
	}
	if !seen {
		return unseen("acl-keys", "which keys the user "+user+" may use, because it may use neither GET nor SET", nil)
	}
	return aclKeys(user, prefix, keys, refused)
}

// leaves reports whether a key that GETSET makes would stay.
func (s *redisServer) leaves(ctx context.Context, key string) bool {
	return refusalOf(s.client.Del(ctx, key).Err()) != allowed
}

// subscribe subscribes to a channel, and ends the subscription.
func (s *redisServer) subscribe(ctx context.Context, channel string) error {
	sub := s.client.Subscribe(ctx, channel)
	defer sub.Close() //nolint:errcheck // nothing depends on it
	_, err := sub.Receive(ctx)
	return err
}

// authentication decides on a URL with or without a password.
func authentication(password, loopback bool) Finding {
	const do = "set a user and a password, and put them into the URL"
	switch {
	case password:
		return ok("authentication", "the URL has a password")
	case loopback:
		return note("authentication", "none: every program of this machine can take every lock", do)
	default:
		return warning("authentication", "none: every machine that reaches the server can take every lock", do)
	}
}

// encryption decides on a connection with or without TLS.
func encryption(tls, loopback bool) Finding {
	switch {
	case tls:
		return ok("tls", "on")
	case loopback:
		return ok("tls", "off, on this machine")
	default:
		return note("tls", "off", "use TLS, or a network that you trust")
	}
}

func scripts(eval, evalsha refusal) Finding {
	switch {
	case eval == unknownCommand || evalsha == unknownCommand:
		return fault("scripts", "the server has no EVAL or no EVALSHA", "use a server with Lua scripts, and do not rename the commands")
	case eval != allowed:
		return unseen("scripts", "whether Lua runs, because the user may not use EVAL", nil)
	default:
		return ok("scripts", "Lua runs")
	}
}

// refusesWrites are the first words of errors of a server that answers and refuses all
// writes, and what to do.
var refusesWrites = map[string]string{
	"READONLY":    "name the master in the URL",
	"OOM":         "see memory",
	"MISCONF":     "see disk-writes",
	"NOREPLICAS":  "see replicas",
	"CLUSTERDOWN": "see cluster-state",
	"MASTERDOWN":  "name the master in the URL",
	"LOADING":     "wait until the server has loaded its data",
	"BUSY":        "SCRIPT KILL, and find out whose script it was",
}

// writes decides on the answer to a SET that changes nothing.
func writes(err error) Finding {
	if err != nil {
		word, _, _ := strings.Cut(err.Error(), " ")
		if do := refusesWrites[word]; do != "" {
			return fault("writes", oneLine(err), do)
		}
		if refusalOf(err) == noCommand {
			return unseen("writes", "whether the server takes writes, because the user may not use SET", nil)
		}
	}
	return ok("writes", "the server takes them")
}

// aclCommands decides on the commands that were refused. The rules behind them are part of
// the advice.
func aclCommands(user string, missing []refused, behind []string) Finding {
	var rules []string
	for _, m := range missing {
		if m.lack == "" {
			rules = append(rules, "+"+m.rule)
		}
	}
	if len(rules) == 0 {
		return ok("acl-commands", "the user %s may run all that locks need", user)
	}
	return fault("acl-commands", fmt.Sprintf("the user %s may not run what locks need: %s", user, strings.ReplaceAll(strings.Join(rules, " "), "+", "")),
		"ACL SETUSER "+user+" "+strings.Join(append(behind, rules...), " "))
}

func aclOptional(user string, missing []refused) Finding {
	var rules, seen []string
	severity := Note
	for _, m := range missing {
		if m.lack == "" {
			continue
		}
		rules = append(rules, "+"+m.rule)
		seen = append(seen, m.rule+" ("+m.lack+")")
		if m.rule == "subscribe" {
			severity = Warning
		}
	}
	if len(rules) == 0 {
		return ok("acl-optional", "the user %s may run all of them", user)
	}
	return finding("acl-optional", severity, fmt.Sprintf("the user %s may not run: %s", user, strings.Join(seen, ", ")),
		"ACL SETUSER "+user+" "+strings.Join(rules, " "))
}

// aclKeys decides on the keys that were refused.
func aclKeys(user, prefix string, keys probeKeys, refused []string) Finding {
	patterns := keyPatterns(prefix, keys)
	if len(refused) == 0 {
		return ok("acl-keys", "the user %s may use the keys of locks with the prefix %q", user, prefix)
	}
	var rules []string
	others := false
	for _, key := range refused {
		rules = append(rules, patterns[key])
		others = others || key == clockKey
	}
	do := "ACL SETUSER " + user + " '" + strings.Join(rules, "' '") + "'"
	if prefix == "" && !others {
		return warning("acl-keys", fmt.Sprintf("the user %s may not use all keys, and -prefix does not say which the locks have", user), "distlock doctor -prefix TEXT, with what the keys begin with")
	}
	return fault("acl-keys", fmt.Sprintf("the user %s may not use the keys %s", user, strings.ReplaceAll(strings.Join(rules, " "), "~", "")), do)
}

func aclChannels(user string, publish, subscribe refusal) Finding {
	do := "ACL SETUSER " + user + " '&" + inbox + "*'"
	seen := fmt.Sprintf("the user %s may not %%s on the channels %s*", user, inbox)
	switch {
	case publish == noChannel && subscribe == noChannel:
		return fault("acl-channels", fmt.Sprintf(seen, "publish and subscribe"), do)
	case publish == noChannel: // a release fails if it cannot wake a waiter
		return fault("acl-channels", fmt.Sprintf(seen, "publish"), do)
	case subscribe == noChannel:
		return warning("acl-channels", fmt.Sprintf(seen, "subscribe"), do)
	case publish == noCommand && subscribe == noCommand:
		return unseen("acl-channels", fmt.Sprintf("which channels the user %s may use, because it may use neither PUBLISH nor SUBSCRIBE", user), nil)
	default:
		return ok("acl-channels", "the user %s may use the channels %s*", user, inbox)
	}
}
