-- Telling locks from other strings.

-- is_lock reports whether the value at the key of a lock is a lock: if it is the holder in
-- the fence, which may have any value; or if it expires and looks like the owner of a
-- Locker, a UUID with or without a name. A lock that is held for long has lost its fence,
-- and a lock that was just granted to a waiter may have none yet. A waiter in the queue
-- proves nothing: it may wait for a value that an application keeps at the key.
local function is_lock(lock, value, fence)
  if type(fence) == 'string' and string.match(fence, '^%d+ %d+ (%S+) ') == value then
    return true
  end
  local x4 = '%x%x%x%x'
  local uuid = '^' .. x4 .. x4 .. '%-' .. x4 .. '%-' .. x4 .. '%-' .. x4 .. '%-' .. x4 .. x4 .. x4
  return (string.find(value, uuid .. '$') or string.find(value, uuid .. '@[%w._/%-]+$')) ~= nil
    and redis.call('PTTL', lock) > 0
end
