-- Releases exclusive locks that nobody waits for. It leaves everything else to release.lua.
--
-- KEYS: n locks, their n queues.
-- ARGV: the n owners, each followed by a space.
--
-- Returns a digit for each lock: 1 if the owner had it, and 0 if nothing was done.

local KEYS, ARGV, call, sub = KEYS, ARGV, redis.call, string.sub -- locals are faster than globals
local n = #ARGV
local wanted = call('EXISTS', unpack(KEYS, n + 1)) > 0 -- somebody waits for one of them
local values = call('MGET', unpack(KEYS, 1, n))
local answers, held = {}, {}
for i = 1, n do
  local owner = ARGV[i]
  if values[i] and sub(values[i], 1, #owner) == owner and (not wanted or call('EXISTS', KEYS[n + i]) == 0) then
    held[#held + 1] = KEYS[i]
    answers[i] = '1'
  else
    answers[i] = '0'
  end
end
if held[1] then
  call('DEL', unpack(held))
end
return table.concat(answers)
