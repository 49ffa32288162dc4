-- Gives locks back. KEYS are three for each: the lock, its token, and a grave;
-- ARGV are five: the owner, the attempt that is taken back (-1: all that the
-- owner has), for how many milliseconds it is buried (0: not at all), and the
-- tokens of the grant (0: none).
--
-- Returns for each 1 if the owner had the lock (or this is a repeat), 0 if
-- another has it, 2 if nobody had.

local found = {}
for i = 1, #KEYS / 3 do
  local lock, token, grave = KEYS[3 * i - 2], KEYS[3 * i - 1], KEYS[3 * i]
  local owner, attempt, burial = ARGV[5 * i - 4], tonumber(ARGV[5 * i - 3]), tonumber(ARGV[5 * i - 2])
  local first, last = tonumber(ARGV[5 * i - 1]), tonumber(ARGV[5 * i])

  -- pcall: a key of another type is another's, and must not spoil the release of
  -- the others.
  local current = redis.pcall('GET', lock)
  if type(current) == 'table' and string.sub(current.err, 1, 9) ~= 'WRONGTYPE' then
    return current
  end
  local mine = generation(current, owner)
  if mine and attempt >= 0 and mine > attempt then
    mine = nil -- a later attempt has it
  end

  -- The first write is one that Redis never refuses for want of memory, and what
  -- follows it is not refused either: a full server can still be left.
  redis.call('DEL', mine and lock or grave)
  if burial > 0 then
    redis.call('SET', grave, '1', 'PX', burial)
  end

  -- Nobody minted: no counter. One that cannot be read is left alone; it must
  -- not keep those who hold the lock from giving it back.
  local again = false
  if last > 0 then
    local before, highest, holder, released = counter(token)
    again = before and released == owner
    if before and mine then
      if highest <= last then -- not written here, or lost: the holder brings it back
        before, highest, holder = first, last, owner
      end
      store(token, before, highest, holder, owner)
    end
  end

  if mine or (again and not current) then
    found[i] = 1
  else
    found[i] = current and 0 or 2
  end
end
return found
