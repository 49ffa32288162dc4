-- Releases some locks, or places in their queues. This file handles locks that their
-- owners have, without waiters. release_rest.lua, which follows after lib.lua,
-- shared.lua and grant_next.lua, handles the others.
--
-- KEYS: n locks, their n fences, their n queues.
-- ARGV: the inbox of the caller, the claim window in milliseconds, the prefix of inboxes;
--   then for each lock: the owner, 1 if an attempt of the owner is in doubt, and the last
--   token that was issued to the owner.
--
-- Returns a line for each lock:
--   1  this owner had it, or this is a repeated call
--   0  another owner has it
--   2  it had no holder
--   -<error>

local RETENTION = 900000 -- as in acquire.lua

local KEYS, ARGV = KEYS, ARGV -- locals are faster than globals
local call, find, sub, byte = redis.call, string.find, string.sub, string.byte

local n = #KEYS / 3
local values = call('MGET', unpack(KEYS, 1, 2 * n))
local queued = call('EXISTS', unpack(KEYS, 2 * n + 1))

local answers, rest = {}, {}
local locks, fences = {}, {}
for i = 1, n do
  local owner, fence = ARGV[3 * i + 1], values[n + i]
  local text
  if values[i] == owner and fence and ARGV[3 * i + 2] == '0'
    and (queued == 0 or call('EXISTS', KEYS[2 * n + i]) == 0) then
    local blank = #fence > 34 and find(fence, ' ', 35, true)
    if blank and byte(fence, 34) == 32 and sub(fence, 35, blank - 1) == owner
      and not find(fence, ' ', blank + 1, true) then
      text = sub(fence, 1, blank) .. owner
    end
  end
  if text then
    answers[i] = '1'
    locks[#locks + 1], fences[i] = KEYS[i], text
  else
    answers[i] = ''
    rest[#rest + 1] = i
  end
end
if #locks > 0 then
  -- First a command that Redis does not refuse when it is out of memory. After it, Redis
  -- does not refuse the others either.
  call('DEL', unpack(locks))
  for i, text in pairs(fences) do
    call('SET', KEYS[n + i], text, 'PX', RETENTION)
  end
end
if #rest == 0 then
  return table.concat(answers, '\n')
end
