-- Running a script for several locks.

-- each calls f with the number of each lock that has no line in the reply yet, and returns
-- the lines. What fails for one lock fails for that lock alone.
local function each(n, lines, f)
  for i = 1, n do
    if not lines[i] then
      local ok, answer = pcall(f, i)
      if not ok then
        answer = '-' .. string.gsub(type(answer) == 'table' and answer.err or answer, '\n', ' ')
      end
      lines[i] = answer
    end
  end
  return table.concat(lines, '\n')
end
