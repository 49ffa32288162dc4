-- Takes all of some locks, or none of them. So it checks all locks before it takes the
-- first. It follows after preamble.lua, lib.lua and mint.lua.
--
-- KEYS: n locks, their n fences, their n queues.
-- ARGV: the time to live in milliseconds, how many tokens are asked for each lock, then
--   the n owners.
--
-- Returns one line for all locks:
--   1 <first token> <last token> …   the tokens of each lock
--   0 <milliseconds left, negative if not known> …   one lock is held or waited for; as in
--     acquire.lua
--   -FOREIGN <i>   the lock with this number has a value of another type
--   -<error>

local ttl, tokens = ARGV[1], ARGV[2]

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
  local first, last, holder, released, tombstones = fence(KEYS[n + i])
  if not first then
    return '-' .. last
  end
  if released == owner or is_tombstoned(tombstones, owner) then
    return '-GONE this owner has released the lock'
  end
  fences[i] = { first, last, holder, released, tombstones }
end

local answer = { '1' }
for i = 1, n do
  local owner, f = ARGV[2 + i], fences[i]
  redis.call('SET', KEYS[i], owner, 'PX', ttl)
  local first, last = f[1], f[2]
  if f[3] ~= owner then -- a repeated attempt already has tokens
    first, last = mint(KEYS[n + i], last, tokens, owner, f[4], f[5])
  end
  answer[i + 1] = string.format('%.0f %.0f', first, last)
end
return table.concat(answer, ' ')
