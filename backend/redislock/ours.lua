-- Telling locks from what others keep in strings.

-- is_lock reports whether the value at a key is a lock: if the fence, which may have
-- any value, has it as the last holder, or if the value expires and looks like an owner
-- of a Locker, a UUID with or without a name behind it. A lock that is held for long
-- loses its fence, and a lock that was just handed over has none yet. A waiter is not
-- evidence: it may wait for a value that an application keeps at the key.
local function is_lock(lock, value, fence)
  if type(fence) == 'string' and string.match(fence, '^%d+ %d+ (%S+) ') == value then
    return true
  end
  local x4 = '%x%x%x%x'
  local uuid = '^' .. x4 .. x4 .. '%-' .. x4 .. '%-' .. x4 .. '%-' .. x4 .. '%-' .. x4 .. x4 .. x4
  return (string.find(value, uuid .. '$') or string.find(value, uuid .. '@[%w._/%-]+$')) ~= nil
    and redis.call('PTTL', lock) > 0
end
