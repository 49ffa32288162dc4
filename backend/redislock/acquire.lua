-- Makes one attempt for each of some locks. This file handles locks that are free and have
-- no waiters. acquire_rest.lua, which follows after lib.lua, shared.lua,
-- grant_next.lua and mint.lua, handles the others. Locks in one call share the expensive
-- parts: reading the keys, the time, and this text.
--
-- KEYS: n locks, their n fences, their n queues.
-- ARGV: the inbox of the caller, the claim window in milliseconds, the prefix of inboxes;
--   then for each lock: the owner, the time to live in milliseconds, how many tokens are
--   asked for, and the mode:
--     try      do not queue
--     enqueue  queue if the lock is not granted
--     extend   extend the owner's lease and issue new tokens, unless others wait
--
-- Returns a line for each lock:
--   1 <first token> <last token> <1 if others wait, else 0>
--   0 <milliseconds left, negative if not known> [<microseconds since the only
--     holder got it, negative if not known> <the name of that holder>]
--   2                  the owner does not have the lock that is to be extended
--   -<error>

-- How long a fence is kept after its last use, and a queue after the last attempt of its
-- last waiter, in milliseconds. options.go explains them.
local RETENTION, QUEUE_TTL = 900000, 60000

local KEYS, ARGV = KEYS, ARGV -- locals are faster than globals
local call, find, sub, byte = redis.call, string.find, string.sub, string.byte

local n = #KEYS / 3
local values = call('MGET', unpack(KEYS, 1, 2 * n))
local queued = call('EXISTS', unpack(KEYS, 2 * n + 1))
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local now_text = string.format('%016.0f', now)

local answers, rest = {}, {}
local low_tokens, low_text
for i = 1, n do
  local owner, ttl, tokens = ARGV[4 * i], ARGV[4 * i + 1], ARGV[4 * i + 2]
  local fence = values[n + i]
  local first, released
  if not values[i] and ARGV[4 * i + 3] ~= 'extend'
    and (queued == 0 or call('EXISTS', KEYS[2 * n + i]) == 0) then
    if not fence then
      first, released = now_text, '-'
    else
      -- As fence() in lib.lua, for a fence of the usual form. Others are left to it.
      local blank = #fence > 34 and find(fence, ' ', 35, true)
      local last = tonumber(sub(fence, 18, 33))
      if blank and last and last < now
        and byte(fence, 17) == 32 and byte(fence, 34) == 32
        and sub(fence, 35, blank - 1) ~= owner then
        released = sub(fence, blank + 1)
        if released ~= owner and not find(released, ' ', 1, true) then
          if last >= now - tokens then
            first = string.format('%016.0f', last + 1)
          else
            if low_tokens ~= tokens then
              low_tokens, low_text = tokens, string.format('%016.0f', now - tokens + 1)
            end
            first = low_text
          end
        end
      end
    end
  end
  -- NX: MGET returns nothing for a value of another type.
  if first and call('SET', KEYS[i], owner, 'NX', 'PX', ttl) then
    local text = first .. ' ' .. now_text .. ' ' .. owner .. ' ' .. released
    if fence then
      call('SET', KEYS[n + i], text, 'PX', RETENTION)
    elseif not call('SET', KEYS[n + i], text, 'NX', 'PX', RETENTION) then
      call('DEL', KEYS[i])
      first = nil
    end
  else
    first = nil
  end
  if first then
    answers[i] = '1 ' .. first .. ' ' .. now_text .. ' 0'
  else
    answers[i] = ''
    rest[#rest + 1] = i
  end
end
if #rest == 0 then
  return table.concat(answers, '\n')
end
