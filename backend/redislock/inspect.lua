-- Looks at one lock and changes nothing: behind ours.lua.
--
-- KEYS: the lock, its fence, its queue. ARGV: how many holders to list, and 1 to also
-- list a value that another kit may have set: a string that expires. Such a string is
-- also listed if there is a waiter for it.
--
-- Returns nothing if nobody has the key, nor waits for it, or if what is there is
-- no lock. Else an array: what has it, as in sharers.lua (x is one alone, "-"
-- nobody), how many of them, how many wait, the fence or "", and for each holder its
-- owner and the milliseconds that are left to it, negative if it has no end.

local lock, fence, queue = KEYS[1], KEYS[2], KEYS[3]

-- What is of another type is nothing to us.
local function look(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then
      error(reply.err)
    end
    return nil, true
  end
  return reply
end

local waiting = look('ZCARD', queue) or 0
local text = look('GET', fence) or ''
local kind, held, holders = '-', 0, {}

local value, wrong = look('GET', lock)
if value then
  local ms = redis.call('PTTL', lock)
  if is_lock(lock, value, text) or ms > 0 and (waiting > 0 or ARGV[2] == '1') then
    kind, held, holders = 'x', 1, { value, string.format('%.0f', ms) }
  end
elseif wrong then
  local clock = redis.call('TIME')
  local now = clock[1] * 1000000 + clock[2]
  local after = '(' .. string.format('%.0f', now)
  local found = look('ZRANGEBYSCORE', lock, after, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[1])
  if not found then
    return nil
  end
  for i = 1, #found, 2 do
    local k, owner = string.match(found[i], '^([rp]) (%S+)$')
    if not k then
      return nil
    end
    kind = k
    holders[i], holders[i + 1] = owner, string.format('%.0f', math.ceil((found[i + 1] - now) / 1000))
  end
  held = redis.call('ZCOUNT', lock, after, '+inf')
end

if held == 0 and waiting == 0 then
  return nil
end
return { kind, held, waiting, text, holders }
