-- Telling locks from what others keep in strings.

-- is_lock reports whether the value at a key is that of a lock: if the fence, which
-- may be anything, has it as the last holder, or if it looks like the owners that
-- Lockers make, a UUID alone or with a name behind it, and will end by itself. A lock
-- that is held for long loses its fence, and one that was just passed on has none
-- yet. That somebody waits says nothing: it may be for what an application keeps at
-- the key.
local function is_lock(lock, value, fence)
  if type(fence) == 'string' and string.match(fence, '^%d+ %d+ (%S+) ') == value then
    return true
  end
  local x4 = '%x%x%x%x'
  local uuid = '^' .. x4 .. x4 .. '%-' .. x4 .. '%-' .. x4 .. '%-' .. x4 .. '%-' .. x4 .. x4 .. x4
  return (string.find(value, uuid .. '$') or string.find(value, uuid .. '@[%w._/%-]+$')) ~= nil
    and redis.call('PTTL', lock) > 0
end
