-- The value of a lock is "<owner> <generation>"; each attempt is a generation. generation_of returns the generation of the value, or nil if another
-- owner wrote it.
local function generation_of(value, owner)
  if value == owner then
    return 0
  elseif type(value) == 'string' and string.sub(value, 1, #owner + 1) == owner .. ' ' then
    return tonumber(string.sub(value, #owner + 2))
  end
end
