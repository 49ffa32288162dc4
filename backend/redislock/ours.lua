-- Telling locks from what others keep in strings.

-- is_lock reports whether the value at a key is that of a lock: if it has a
-- companion, or if it looks like the owners that Lockers make, UUIDs, and will end
-- by itself. A lock that is held for long loses its fence.
local function is_lock(lock, value, companion)
  if companion then
    return true
  end
  local x4 = '%x%x%x%x'
  local uuid = '^' .. x4 .. x4 .. '%-' .. x4 .. '%-' .. x4 .. '%-' .. x4 .. '%-' .. x4 .. x4 .. x4 .. '$'
  return string.find(value, uuid) ~= nil and redis.call('PTTL', lock) > 0
end
