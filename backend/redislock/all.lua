-- Behind lib.lua and mint.lua: takes all of some locks, or none of them. So all are
-- looked at before any is taken.
--
-- KEYS: n locks, their n fences, their n queues.
-- ARGV: the time to live, how many tokens are wanted of each, then the n owners.
--
-- Returns one line for all:
--   1 <first token> <last token> …   for each lock
--   0 <milliseconds left, negative if that is not known>   one is not to be had
--   -FOREIGN <i>   the value at the lock of that number is of another type
--   -<error>

local ttl, want = ARGV[1], ARGV[2]

local fences = {}
for i = 1, n do
  local lock, owner = KEYS[i], ARGV[2 + i]
  local current = redis.pcall('GET', lock)
  if type(current) == 'table' then
    local one = redis.pcall('ZRANGE', lock, 0, 0)
    if one.err or not string.find(one[1] or '', '^[rp] %S+$') then
      return '-FOREIGN ' .. i
    end
  end
  if type(current) == 'table' or current and current ~= owner
    or not current and redis.call('EXISTS', KEYS[2 * n + i]) == 1 then
    return refusal(redis.call('PTTL', lock), current, redis.pcall('GET', KEYS[n + i]))
  end
  local first, last, holder, released, buried = fence(KEYS[n + i])
  if not first then
    return '-' .. last
  end
  if released == owner or is_buried(buried, owner) then
    return '-GONE this owner has released the lock'
  end
  fences[i] = { first, last, holder, released, buried }
end

local answer = { '1' }
for i = 1, n do
  local owner, f = ARGV[2 + i], fences[i]
  redis.call('SET', KEYS[i], owner, 'PX', ttl)
  local first, last = f[1], f[2]
  if f[3] ~= owner then -- a repeat has its tokens already
    first, last = mint(KEYS[n + i], last, want, owner, f[4], f[5])
  end
  answer[i + 1] = string.format('%.0f %.0f', first, last)
end
return table.concat(answer, ' ')
