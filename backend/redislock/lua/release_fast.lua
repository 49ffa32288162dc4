-- The frequent case of release.lua: exclusive locks that their owners have, without
-- waiters. It only saves time. Locks of one call share the expensive commands. A lock that
-- is alone in its call does without the tables for several.

local answers = {}
do
  local KEYS, ARGV, call, sub = KEYS, ARGV, redis.call, string.sub -- locals are faster than globals
  local n = (#KEYS - 1) / 3
  --- @if MIXED

  -- ordinary reports whether the lock has no message, and nothing about a stretch has to be
  -- recorded: a lock that is held for less than a hundredth of the interval at a time is free
  -- often enough.
  local function ordinary(i, value)
    if ARGV[2 + 3 * n + 2 * i] ~= '' or call('EXISTS', KEYS[2 * n + i]) == 1 then
      return false
    end
    local t, token = call('TIME'), tonumber(sub(value, -16))
    return ARGV[#ARGV] == '0' or token ~= nil and t[1] * 1000000 + t[2] - token < ARGV[#ARGV] * 10
  end
  --- @end
  if n == 1 then
    local value, owner = redis.pcall('GET', KEYS[1]), ARGV[4]
    if type(value) == 'string' and ARGV[5] == '0' and sub(value, 1, #owner + 1) == owner .. ' '
      --- @if MIXED
      and ordinary(1, value)
      --- @end
      and call('EXISTS', KEYS[2]) == 0 then
      call('DEL', KEYS[1])
      return '1'
    end
  else
    local busy = call('EXISTS', unpack(KEYS, n + 1, 2 * n)) > 0 -- some lock is
    local values = call('MGET', unpack(KEYS, 1, n))
    local held = {}
    local done = 0
    for i = 1, n do
      local owner, value = ARGV[3 * i + 1], values[i]
      if value and ARGV[3 * i + 2] == '0' and sub(value, 1, #owner + 1) == owner .. ' '
        --- @if MIXED
        and ordinary(i, value)
        --- @end
        and (not busy or call('EXISTS', KEYS[n + i]) == 0) then
        answers[i] = '1'
        done = done + 1
        held[done] = KEYS[i]
      end
    end
    if done > 0 then
      call('DEL', unpack(held))
    end
    if done == n then
      return table.concat(answers, '\n')
    end
  end
end
