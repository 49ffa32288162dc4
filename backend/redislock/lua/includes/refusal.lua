-- Refusals.

-- refusal returns the reply to a refused request: the milliseconds until the lease of the
-- holders ends, and the last token that was issued. If there is one holder, two more values
-- follow. The first is for how many microseconds it has held the lock, negative if that is
-- not known. The second is the holder's name, which is the part of the owner after the UUID.
local function refusal(ms, issued, value)
  local line = '0 ' .. ms .. ' ' .. issued
  if not value or #value > 160 then
    return line
  end
  local held = -1
  local owner, token = string.match(value, '^(%S+) ~?(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d)$')
  if token then
    held = math.max(time() - token, 0)
  end
  local name = string.match(owner or value, '^%x+%-%x+%-%x+%-%x+%-%x+@([%w._/%-]+)$') or ''
  return line .. string.format(' %.0f %s', held, name)
end

-- time_left returns the milliseconds for which others have the lock. For a waiter it is the
-- time until the first of several leases ends: that holder may have died, and the others
-- may leave earlier. For a caller that does not wait it is the time until the lock may be
-- free for it.
local function time_left(lock, kind, share, mode)
  if kind ~= 'r' and kind ~= 'p' then
    return redis.call('PTTL', lock)
  end
  local which = -1
  if mode == 'enqueue' or kind == string.sub(share, 1, 1) then
    which = 0
  end
  local ends = redis.call('ZRANGE', lock, which, which, 'WITHSCORES')[2]
  return string.format('%.0f', math.ceil((ends - time()) / 1000))
end
