-- One attempt each to take some locks. This part deals with those that are free
-- and that nobody waits for; acquire_rest.lua, behind lib.lua, with the others.
-- So those that are not alone share what is dear: reading, the time, this text.
--
-- KEYS: n locks, their n fences, their n queues.
-- ARGV: the inbox of the caller, the claim window, the prefix of inboxes; then
-- for each lock its owner, the time to live, how many tokens are wanted, and how:
--   t  try
--   q  try, or queue
--   p  prolong: extend what the owner has and mint new tokens, unless others wait
--
-- Returns a line for each lock:
--   1 <first token> <last token> <1 if others wait, else 0>
--   0 <milliseconds left, negative if not known> [<microseconds since the only
--     holder got it, negative if not known> <the name of that holder>]
--   2                  the owner has nothing that could be prolonged
--   -<error>

-- How long a fence outlives its last use and a queue the last look of its last
-- waiter, in milliseconds. The Go code explains them.
local RETENTION, QUEUE_TTL = 900000, 60000

local KEYS, ARGV = KEYS, ARGV -- locals are found faster
local call, find, sub, byte = redis.call, string.find, string.sub, string.byte

local n = #KEYS / 3
local values = call('MGET', unpack(KEYS, 1, 2 * n))
local queued = call('EXISTS', unpack(KEYS, 2 * n + 1))
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]
local now_text = string.format('%016.0f', now)

local answers, rest = {}, {}
local low_want, low_text
for i = 1, n do
  local owner, ttl, want = ARGV[4 * i], ARGV[4 * i + 1], ARGV[4 * i + 2]
  local fence = values[n + i]
  local first, released
  if not values[i] and ARGV[4 * i + 3] ~= 'p'
    and (queued == 0 or call('EXISTS', KEYS[2 * n + i]) == 0) then
    if not fence then
      first, released = now_text, '-'
    else
      -- As fence() in lib.lua, which is thorough. What is odd is left to it.
      local blank = #fence > 34 and find(fence, ' ', 35, true)
      local last = tonumber(sub(fence, 18, 33))
      if blank and last and last < now
        and byte(fence, 17) == 32 and byte(fence, 34) == 32
        and sub(fence, 35, blank - 1) ~= owner then
        released = sub(fence, blank + 1)
        if released ~= owner and not find(released, ' ', 1, true) then
          if last >= now - want then
            first = string.format('%016.0f', last + 1)
          else
            if low_want ~= want then
              low_want, low_text = want, string.format('%016.0f', now - want + 1)
            end
            first = low_text
          end
        end
      end
    end
  end
  -- NX: values of another type look free to MGET.
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
