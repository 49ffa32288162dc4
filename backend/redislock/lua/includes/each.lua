-- Running a script for several locks.

-- each calls f with the number of each lock that has no answer yet, and returns the answers,
-- a line for each lock. What fails for one lock fails for that lock alone.
local function each(n, answers, f)
  for i = 1, n do
    if not answers[i] then
      local ok, answer = pcall(f, i)
      if not ok then
        answer = '-' .. string.gsub(type(answer) == 'table' and answer.err or answer, '\n', ' ')
      end
      answers[i] = answer
    end
  end
  return table.concat(answers, '\n')
end
